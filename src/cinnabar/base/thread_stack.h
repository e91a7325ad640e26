// Where another thread of this process is, for messages about hangs (Linux).
#pragma once

#include <pthread.h>

#include <string>
#include <vector>

namespace cinnabar::base {

// To be called once before stack_of, from any thread: installs the handler of SIGUSR2 and loads what unwinding needs.
void prepare_thread_stacks();

// The functions that the thread is in, innermost first, as far as their names are known. Empty when it does not answer
// within a second: it then waits inside the system, which is told by thread_state(). The thread goes on.
std::vector<std::string> stack_of(pthread_t thread);

// "running", "sleeping" or "in the system (uninterruptible)", from /proc; "unknown" elsewhere.
std::string thread_state(int thread_id);

}  // namespace cinnabar::base
