#include "cinnabar/worker/process_setup.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <initializer_list>

namespace cinnabar::worker {

namespace {

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

pid_t g_starter = 0;

// The end of the starting program comes as a signal for each of its threads that ends. They all mean the same: only a
// second signal while that program lives means "at once".
void on_signal(int) {
  if (g_stop.exchange(true) && ::getppid() == g_starter) ::_exit(130);
}

}  // namespace

const std::atomic<bool>& set_up_process() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  g_starter = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
#ifdef NDEBUG
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
#endif
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // A file over the limit of sizes (ulimit -f) is a failed write like one on a full disk, not the end.
  ::signal(SIGXFSZ, SIG_IGN);
  return g_stop;
}

}  // namespace cinnabar::worker
