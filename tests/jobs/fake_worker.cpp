// Stands in for the engine in tests of runs: does what the option `output_name` says.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/events.h"
#include "cinnabar/schema/config_text.h"

namespace {

std::atomic<bool> g_stop{false};

void on_signal(int) {
  if (g_stop.exchange(true)) ::_exit(130);
}

int work(const std::string& act, cinnabar::base::EventSink& events) {
  if (act == "done") {
    events.progress({.step = 2, .total = 2});
    events.saved("a.safetensors", "adapter", 2);
    return 0;
  }
  if (act == "error") {
    events.error({cinnabar::base::ErrorCode::Device, "the device failed"});
    return 70;
  }
  if (act == "crash") {
    events.progress({.step = 5, .total = 9});
    events.saved("a.safetensors", "adapter", 3);
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  }
  if (act == "gpu_fault") {
    events.progress({.step = 5, .total = 9});
    events.saved("a.safetensors", "adapter", 3);
    std::cerr << "MIOpen(HIP): Warning [IsEnoughWorkspace] [EvaluateInvokers]\n"
              << "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7f. Reason: Page not present."
              << std::endl;
    ::signal(SIGABRT, SIG_DFL);
    ::raise(SIGABRT);
  }
  if (act == "no_memory") {
    std::cerr << "terminate called after throwing an instance of 'std::bad_alloc'" << std::endl;
    ::signal(SIGABRT, SIG_DFL);
    ::raise(SIGABRT);
  }
  if (act == "no_threads") {
    std::cerr << "libgomp: Thread creation failed: Resource temporarily unavailable" << std::endl;
    return 1;
  }
  if (act == "killed") ::raise(SIGKILL);
  if (act == "silent") {
    std::cerr << "last words" << std::endl;
    return 3;
  }
  if (act == "not_loaded") {
    std::cerr << "error while loading shared libraries: libtorch_cpu.so: cannot open shared object file" << std::endl;
    return 127;
  }
  if (act == "environment") {
    const char* preload = std::getenv("LD_PRELOAD");
    const char* path = std::getenv("LD_LIBRARY_PATH");
    events.log(std::string("preload=") + (preload == nullptr ? "" : preload) +
               " path=" + (path == nullptr ? "" : path));
    return 0;
  }
  // "stop" and "stubborn": wait for a signal.
  events.log("ready");
  while (!g_stop) ::pause();
  if (act == "stubborn") {
    events.log("still here");
    while (true) ::pause();
  }
  events.saved("b.safetensors", "adapter", 1);
  return 130;
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  ::signal(SIGTERM, on_signal);
  const cinnabar::schema::Config config = cinnabar::schema::parse_config_json(cinnabar::base::read_file(words[3]));
  cinnabar::base::DescriptorEvents events(std::atoi(words[5]));
  return work(config.values.text("output_name"), events);
}
