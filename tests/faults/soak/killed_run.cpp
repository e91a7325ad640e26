#include "faults/soak/killed_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "cinnabar/base/atomic_file.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kMost_s = 300.0;  // of one run; more is a hang

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// State and parent of a process; parent 0 when there is none.
std::pair<char, int> status_of(int id) {
  std::ifstream stat("/proc/" + std::to_string(id) + "/stat");
  std::string text;
  std::getline(stat, text);
  const size_t end = text.rfind(')');
  if (end == std::string::npos || end + 4 >= text.size()) return {' ', 0};
  return {text[end + 2], std::atoi(text.c_str() + end + 4)};
}

// The child of `parent`, or 0.
int engine_of(int parent) {
  std::ifstream children("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  int id = 0;
  children >> id;
  return id;
}

void wait_for_engine(int engine) {
  if (engine == 0) return;
  const Clock::time_point begin = Clock::now();
  while (seconds_since(begin) < kMost_s) {
    ::waitpid(engine, nullptr, WNOHANG);
    const char state = status_of(engine).first;
    if (state == ' ' || state == 'Z') return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(engine, SIGKILL);
}

bool is_writing(const fs::path& out) {
  std::error_code error;
  for (fs::directory_iterator it(out, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(".") && name != ".cinnabar-write-test" && name != ".run.lock") return true;
  }
  return false;
}

void set(const char* name, const std::string& value) {
  if (value.empty()) {
    ::unsetenv(name);
  } else {
    ::setenv(name, value.c_str(), 1);
  }
}

void limit(int program, __rlimit_resource what, rlim_t value) {
  const rlimit limits{value, value};
  if (value != RLIM_INFINITY) ::prlimit(program, what, &limits, nullptr);
}

// Says when a kill is due.
class Moment {
 public:
  Moment(const Kill& kill, fs::path out) : kill_(kill), out_(std::move(out)) {}

  bool is_due() {
    if (kill_.when == Kill::When::Time) return seconds_since(begin_) >= kill_.after_s;
    if (kill_.when != Kill::When::Save) return false;
    if (!hit_) {
      const bool now = is_writing(out_);
      if (now && !was_writing_ && ++saves_ == kill_.save) hit_ = Clock::now();
      was_writing_ = now;
    }
    return hit_ && seconds_since(*hit_) >= kill_.after_s;
  }

 private:
  Kill kill_;
  fs::path out_;
  Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> hit_;
  int64_t saves_ = 0;
  bool was_writing_ = false;
};

void strike(const Kill& kill, base::Process& program, int engine) {
  if (kill.signal != 0) {
    for (int i = 0; i < kill.repeats; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      program.send_signal(kill.signal);
    }
    return;
  }
  if (engine != 0) ::kill(engine, SIGKILL);
  if (kill.is_both || engine == 0) program.send_signal(SIGKILL);
}

}  // namespace

KillFolder::KillFolder() { copy_pictures(path()); }

Ended KillFolder::run(const Words& words, const Kill& kill) const {
  set("CINNABAR_KILL_AT", kill.point);
  set("CINNABAR_FAULT", kill.fault);
  base::Pipe output;
  const fs::path log = path() / "log.txt";
  output.write = base::Descriptor(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const Clock::time_point begin = Clock::now();
  base::Process program = program_.start(words, output);
  set("CINNABAR_KILL_AT", "");
  set("CINNABAR_FAULT", "");
  Moment moment(kill, path() / "out");
  Ended ended;
  int engine = 0;
  std::optional<base::ExitStatus> status;
  while (!(status = program.poll())) {
    if (engine == 0) engine = engine_of(program.id());
    if (!ended.was_hit && moment.is_due()) {
      ended.was_hit = true;
      strike(kill, program, engine);
    }
    if (seconds_since(begin) > kMost_s) {
      if (engine != 0) ::kill(engine, SIGKILL);
      program.send_signal(SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(kill.when == Kill::When::Save ? 200 : 2000));
  }
  wait_for_engine(engine);
  ended.seconds = seconds_since(begin);
  ended.status = status->code.value_or(-1);
  ended.text = base::read_file(log);
  if (kill.when == Kill::When::Point) ended.was_hit = ended.status != 0;
  return ended;
}

Ended KillFolder::run_beside(const Words& words, const std::function<void(int)>& beside, const std::string& fault,
                             const Limits& limits) const {
  set("CINNABAR_FAULT", fault);
  base::Pipe output;
  const fs::path log = path() / "log.txt";
  output.write = base::Descriptor(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const Clock::time_point begin = Clock::now();
  base::Process program = program_.start(words, output);
  set("CINNABAR_FAULT", "");
  limit(program.id(), RLIMIT_FSIZE, limits.file_bytes);
  limit(program.id(), RLIMIT_NOFILE, limits.open_files);
  Ended ended;
  std::optional<base::ExitStatus> status;
  while (!(status = program.poll())) {
    beside(engine_of(program.id()));
    if (seconds_since(begin) > kMost_s) program.send_signal(SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ended.seconds = seconds_since(begin);
  ended.status = status->code.value_or(-1);
  ended.text = base::read_file(log);
  return ended;
}

std::string finish(const KillFolder& folder, const Words& words, const Kill& first) {
  Words resumed = words;
  resumed.insert(resumed.end(), {"--resume", "auto"});
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Ended ended = folder.run(resumed, attempt == 0 ? first : Kill{});
    if (ended.status == 0) return {};
    const bool is_expected = attempt == 0 && (first.when != Kill::When::Never || !first.fault.empty());
    if (!is_expected) return "the resumed run ended with status " + std::to_string(ended.status) + ": " + ended.text;
  }
  return "the run does not come to an end";
}

Kill drawn_kill(std::mt19937_64& random, double run_s) {
  std::uniform_real_distribution<double> share(0.0, 1.0);
  Kill kill;
  kill.is_both = random() % 2 == 0;
  if (random() % 2 == 0) {
    kill.when = Kill::When::Time;
    kill.after_s = share(random) * run_s;
  } else {
    kill.when = Kill::When::Save;
    kill.save = static_cast<int64_t>(1 + random() % 8);
    kill.after_s = share(random) * 0.02;
  }
  return kill;
}

}  // namespace cinnabar::soak
