#include "cinnabar/train/save_queue.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "cinnabar/base/error.h"

namespace cinnabar::train {

namespace {

using Clock = std::chrono::steady_clock;

std::chrono::duration<double> seconds(double value) { return std::chrono::duration<double>(value); }

}  // namespace

SaveQueue::SaveQueue(base::EventSink& events, const std::atomic<bool>& stop, const SaveQueueOptions& options)
    : events_(events), stop_(stop), options_(options), thread_([this] { work(); }) {}

SaveQueue::~SaveQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SaveQueue::rethrow(std::unique_lock<std::mutex>& lock) {
  if (!failure_) return;
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  lock.unlock();
  std::rethrow_exception(failure);
}

void SaveQueue::submit(std::string what, std::function<void()> write) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !write_ && !is_writing_; });
  rethrow(lock);
  what_ = std::move(what);
  write_ = std::move(write);
  lock.unlock();
  changed_.notify_all();
}

void SaveQueue::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !write_ && !is_writing_; });
  rethrow(lock);
}

void SaveQueue::pause_while_waiting() {
  std::unique_lock lock(mutex_);
  if (is_waiting_) changed_.wait(lock, [&] { return !is_waiting_; });
  rethrow(lock);
}

void SaveQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return write_ || is_ending_; });
    if (!write_) return;
    is_writing_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      write_with_retries();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    write_ = nullptr;
    is_writing_ = false;
    is_waiting_ = false;
    changed_.notify_all();
  }
}

void SaveQueue::write_with_retries() {
  const Clock::time_point begin = Clock::now();
  bool has_resorted = !options_.last_resort;
  while (true) {
    try {
      write_();
      break;
    } catch (const base::Error& error) {
      const bool is_disk = error.code() == base::ErrorCode::OutOfSpace || error.code() == base::ErrorCode::Io;
      const double waited_s = std::chrono::duration<double>(Clock::now() - begin).count();
      const bool is_over = stop_.load() || waited_s >= options_.most_wait_s;
      if (is_disk && is_over && !std::exchange(has_resorted, true) && options_.last_resort()) continue;
      if (is_disk && stop_.load()) {
        throw base::Error(base::ErrorCode::Cancelled, "stopped while waiting for the disk: " + what_ +
                                                          " could not be written (" + error.message() +
                                                          "); everything saved before is kept");
      }
      if (!is_disk || is_over) throw;
      const auto minutes = std::lround((options_.most_wait_s - waited_s) / 60.0);
      events_.warning(what_ + " cannot be written: " + error.message() +
                      ". The training pauses and tries again every " +
                      std::to_string(static_cast<int64_t>(options_.retry_s)) + " s, for " + std::to_string(minutes) +
                      " minutes; everything saved before is kept");
    }
    const double left_s = options_.most_wait_s - std::chrono::duration<double>(Clock::now() - begin).count();
    const double pause_s = std::max(0.0, std::min(options_.retry_s, left_s));
    std::unique_lock lock(mutex_);
    is_waiting_ = true;
    const Clock::time_point next = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds(pause_s));
    // A signal only sets `stop`, so it is looked at now and then.
    while (Clock::now() < next && !stop_.load() && !is_ending_) changed_.wait_for(lock, seconds(0.2));
  }
  bool was_waiting = false;
  {
    const std::lock_guard lock(mutex_);
    was_waiting = std::exchange(is_waiting_, false);
  }
  changed_.notify_all();
  if (was_waiting) events_.log(what_ + " is written; the training goes on.");
}

}  // namespace cinnabar::train
