#include "cinnabar/base/thread_stack.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

using namespace cinnabar;

TEST_CASE("another thread is told where it is, and goes on") {
  base::prepare_thread_stacks();
  std::atomic<bool> is_done{false};
  std::atomic<int> id{0};
  std::thread thread([&] {
    id = ::gettid();
    while (!is_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (id == 0) std::this_thread::yield();
  CHECK(!base::stack_of(thread.native_handle()).empty());
  const std::string state = base::thread_state(id);
  CHECK((state == "sleeping" || state == "running"));
  is_done = true;
  thread.join();
  CHECK(base::thread_state(id) == "unknown");
}
