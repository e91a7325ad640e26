// Which process does a run, so that another one can tell later whether it is still there. A number alone does not tell:
// the system gives it out again.
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar::jobs {

struct ProcessIdentity {
  int64_t pid = 0;          // 0: not recorded
  int64_t started = 0;      // clock ticks from the start of the system to that of the process
  std::string boot{};       // identity of the start of the system
  std::string host{};       // name of the machine
  std::string pid_space{};  // containers number their processes by themselves
  bool operator==(const ProcessIdentity&) const = default;
};

// Parts that the system does not tell stay empty.
ProcessIdentity this_process();

enum class Liveness { Alive, Gone, Unknown };
// Unknown: it is on another machine or in another container, or was not recorded.
Liveness liveness(const ProcessIdentity& process);

}  // namespace cinnabar::jobs
