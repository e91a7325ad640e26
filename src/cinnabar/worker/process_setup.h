// What the engine's process asks of the system before it reads anything: no new privileges, an end when its starter
// ends, signals as a flag.
#pragma once

#include <atomic>

namespace cinnabar::worker {

// Linux: no_new_privs, SIGTERM when the parent dies, no core dump in a release build, SIGPIPE ignored. The first SIGINT
// or SIGTERM sets the flag that is returned; the second ends the process with status 130 (files are complete or
// absent).
const std::atomic<bool>& set_up_process();

}  // namespace cinnabar::worker
