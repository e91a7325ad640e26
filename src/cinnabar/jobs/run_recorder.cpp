#include "cinnabar/jobs/run_recorder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "cinnabar/jobs/run_intake.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kRetry(30);

// Hashing what was saved must not take time from the training. On Linux this is the priority of the calling thread.
void be_modest() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10); }

}  // namespace

RunRecorder::RunRecorder(fs::path workspace, fs::path folder, std::chrono::milliseconds interval)
    : workspace_(std::move(workspace)), folder_(std::move(folder)), interval_(interval) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    warn(std::string("The store of runs is not written: no thread for it (") + error.what() + ").");
    is_done_ = true;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RunRecorder::~RunRecorder() { finish(std::chrono::milliseconds(0)); }

std::vector<std::string> RunRecorder::take_warnings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

void RunRecorder::finish(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    wake_.notify_all();
    wake_.wait_for(lock, patience, [this] { return is_done_; });
  }
  is_stopped_ = true;
  thread_.join();
}

void RunRecorder::work() noexcept {
  be_modest();
  for (bool is_last = false; !is_last && !is_stopped_;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, interval_, [this] { return is_ending_; });
      is_last = is_ending_;
    }
    if (is_last) retry_at_ = {};
    if (!is_stopped_) look();
  }
  link_.reset();
  const std::lock_guard lock(mutex_);
  is_done_ = true;
  wake_.notify_all();
}

void RunRecorder::look() {
  const auto is_over = [this] { return is_stopped_.load(); };
  try {
    link();
    if (!link_) return;
    const Intake intake = take_in(link_->store.database, folder_, {.is_over = is_over});
    if (intake.is_complete) complete_files(link_->store.database, intake.run, is_over);
  } catch (const SqliteError& error) {
    link_.reset();
    if (!error.is_damage()) return give_up(error.message());
    std::vector<std::string> notes;
    try {
      set_store_aside(workspace_, error.message(), notes);
    } catch (const std::exception& failed) {
      give_up(failed.what());
    }
    for (const std::string& note : notes) warn(note);
  } catch (const std::exception& error) {
    link_.reset();
    give_up(error.what());
  }
}

void RunRecorder::link() {
  if (link_ && !is_same_file()) link_.reset();
  if (link_ || is_useless_ || Clock::now() < retry_at_) return;
  std::vector<std::string> notes;
  Link made{open_store(workspace_, {.limit = std::chrono::seconds(2), .stop = &is_stopped_}, notes)};
  for (const std::string& note : notes) warn(note);
  if (made.store.is_newer) {
    is_useless_ = true;
    return;
  }
  struct stat status{};
  if (::stat(store_path(workspace_).c_str(), &status) != 0) return;
  made.device = status.st_dev;
  made.inode = status.st_ino;
  link_.emplace(std::move(made));
}

bool RunRecorder::is_same_file() const {
  struct stat status{};
  return ::stat(store_path(workspace_).c_str(), &status) == 0 && status.st_dev == link_->device &&
         status.st_ino == link_->inode;
}

void RunRecorder::give_up(const std::string& why) {
  retry_at_ = Clock::now() + kRetry;
  // Cut short at the end of a run: nothing is wrong.
  if (is_stopped_) return;
  warn("The store of runs " + store_path(workspace_).string() + " could not be written: " + why +
       ". The run goes on; its own record is complete and is taken in later.");
}

void RunRecorder::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (std::find(told_.begin(), told_.end(), text) != told_.end()) return;
  told_.push_back(text);
  warnings_.push_back(text);
}

}  // namespace cinnabar::jobs
