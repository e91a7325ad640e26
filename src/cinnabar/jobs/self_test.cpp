#include "cinnabar/jobs/self_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cinnabar/base/error.h"
#include "cinnabar/base/process.h"
#include "cinnabar/jobs/known_failures.h"
#include "cinnabar/jobs/line_reader.h"

namespace cinnabar::jobs {

namespace {

using nlohmann::ordered_json;

constexpr int kConfigFd = 4;
// First uses of kernels on a GPU may be searched and compiled for minutes.
constexpr int kPatience_ms = 600'000;

// The engine reads its configuration from a file; this one has no name that anybody could read it by.
base::Descriptor config_in_memory(const std::string& device) {
  const std::string text =
      ordered_json({{"cinnabar_config", 1}, {"command", "self_test"}, {"values", {{"device", device}}}}).dump();
  const base::Descriptor low(::memfd_create("self_test", MFD_CLOEXEC));
  // A high number, so that it never collides with those that the child expects.
  base::Descriptor file(::fcntl(low.get(), F_DUPFD_CLOEXEC, 10));
  if (!file.is_open() || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw base::Error(base::ErrorCode::Io, std::string("cannot start the self-test: ") + std::strerror(errno));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

class Watch {
 public:
  explicit Watch(const std::function<void(const std::string&)>& begun) : begun_(begun) {}

  hardware::SelfTestReport run(const Engine& engine, const std::string& device) {
    const auto begin = std::chrono::steady_clock::now();
    const base::Descriptor config = config_in_memory(device);
    EngineProcess worker =
        start_engine(engine, {.arguments = {"self_test", "--config", "/dev/fd/" + std::to_string(kConfigFd)},
                              .descriptors = {{config.get(), kConfigFd}},
                              .is_own_group = false});
    const bool is_silent = !read_all(worker.events, worker.output);
    if (is_silent) worker.process.send_signal(SIGKILL);
    judge(worker.process.wait(), is_silent);
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(report_);
  }

 private:
  // False when nothing came for too long.
  bool read_all(const base::Descriptor& events, const base::Descriptor& output) {
    LineReader event_lines(events);
    LineReader output_lines(output);
    while (event_lines.is_open() || output_lines.is_open()) {
      pollfd waits[] = {{event_lines.is_open() ? events.get() : -1, POLLIN, 0},
                        {output_lines.is_open() ? output.get() : -1, POLLIN, 0}};
      const int ready = ::poll(waits, 2, kPatience_ms);
      if (ready < 0 && errno != EINTR) return true;
      if (ready == 0) return false;
      if (waits[0].revents != 0) {
        for (const std::string& line : event_lines.take()) on_event(line);
      }
      if (waits[1].revents != 0) {
        for (const std::string& line : output_lines.take()) on_output(line);
      }
    }
    return true;
  }

  void on_event(const std::string& line) {
    const ordered_json event = ordered_json::parse(line, nullptr, false);
    if (!event.is_object()) return on_output(line);
    hardware::take_self_test_event(report_, event);
    const std::string type = event.value("type", "");
    if (type == "error") report_.problem = event.value("text", "");
    if (type != "phase") return;
    running_ = event.value("text", "");
    if (begun_) begun_(running_);
  }

  void on_output(const std::string& line) {
    known_.take(line);
    last_line_ = line;
  }

  void judge(const base::ExitStatus& status, bool is_silent) {
    if (status.code && *status.code == 0) return;
    if (!report_.problem.empty()) return;
    const std::string where = running_.empty() ? "while it started" : "in " + running_;
    if (is_silent) {
      report_.problem = "the engine said nothing for ten minutes " + where + " and was ended";
    } else if (status.signal) {
      report_.problem = "the engine crashed " + where + " (" + ::strsignal(*status.signal) + ")";
    } else {
      report_.problem = "the engine ended " + where;
    }
    if (const std::string known = known_.explanation(); !known.empty()) {
      report_.problem += ". " + known;
    } else if (!last_line_.empty()) {
      report_.problem += ". Its last words: " + last_line_;
    }
  }

  const std::function<void(const std::string&)>& begun_;
  hardware::SelfTestReport report_;
  KnownFailures known_;
  std::string running_;
  std::string last_line_;
};

}  // namespace

hardware::SelfTestReport run_self_test(const Engine& engine, const std::string& device,
                                       const std::function<void(const std::string&)>& begun) {
  return Watch(begun).run(engine, device);
}

}  // namespace cinnabar::jobs
