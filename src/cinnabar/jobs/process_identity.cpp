#include "cinnabar/jobs/process_identity.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace cinnabar::jobs {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

struct ProcessState {
  char state = '?';
  int64_t started = 0;
};

// proc(5): the name in parentheses may hold anything; the state is the third field, the start time the 22nd.
std::optional<ProcessState> state_of(int64_t pid) {
  const std::string line = first_line("/proc/" + std::to_string(pid) + "/stat");
  const size_t end = line.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(end + 1));
  ProcessState result;
  fields >> result.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> result.started;
  if (!fields) return std::nullopt;
  return result;
}

std::string boot_identity() { return first_line("/proc/sys/kernel/random/boot_id"); }

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string pid_space() {
  std::error_code error;
  const std::filesystem::path link = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return error ? "" : link.string();
}

}  // namespace

ProcessIdentity this_process() {
  ProcessIdentity process{.pid = ::getpid(), .boot = boot_identity(), .host = host_name(), .pid_space = pid_space()};
  if (const auto state = state_of(process.pid)) process.started = state->started;
  return process;
}

Liveness liveness(const ProcessIdentity& process) {
  if (process.pid <= 0 || process.host != host_name()) return Liveness::Unknown;
  if (process.boot != boot_identity()) return Liveness::Gone;
  if (process.pid_space != pid_space()) return Liveness::Unknown;
  const auto state = state_of(process.pid);
  if (!state || state->started != process.started) return Liveness::Gone;
  return state->state == 'Z' || state->state == 'X' ? Liveness::Gone : Liveness::Alive;
}

}  // namespace cinnabar::jobs
