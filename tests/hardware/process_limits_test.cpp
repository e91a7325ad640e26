#include "cinnabar/hardware/process_limits.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <string>

#include "cinnabar/base/error.h"

namespace cinnabar::hardware {

namespace {

bool holds(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

// Puts a limit back.
struct StackLimit {
  StackLimit() { ::getrlimit(RLIMIT_STACK, &before); }
  ~StackLimit() { ::setrlimit(RLIMIT_STACK, &before); }
  rlimit before{};
};

TEST_CASE("last_words_of_programs_without_memory_or_threads_are_known") {
  CHECK(shortage_of("terminate called after throwing an instance of 'std::bad_alloc'") == Shortage::Memory);
  CHECK(shortage_of("libdav1d.so.6: failed to map segment from shared object") == Shortage::Memory);
  CHECK(shortage_of("***MEMORY-ERROR***: [1]: GSlice: failed to allocate 1008 bytes") == Shortage::Memory);
  CHECK(shortage_of("libgomp: Thread creation failed: Resource temporarily unavailable") == Shortage::Threads);
  CHECK(shortage_of("Segmentation fault") == Shortage::None);
}

TEST_CASE("a_shortage_names_the_limit_that_is_set") {
  const ProcessLimits limits{.address_bytes = 600'000'000, .processes = 5};
  CHECK(holds(shortage_text(Shortage::Memory, limits), "600 MB of addresses here (ulimit -v 585937)"));
  CHECK(holds(shortage_text(Shortage::Threads, limits), "5 threads here (ulimit -u)"));
  CHECK_FALSE(holds(shortage_text(Shortage::Memory, {}), "ulimit"));
  CHECK(holds(suspicion_text(limits), "ulimit -v"));
  CHECK(suspicion_text({}).empty());
}

TEST_CASE("a_low_limit_of_stacks_is_raised_for_children") {
  const StackLimit keep;
  rlimit low = keep.before;
  low.rlim_cur = 64 * 1024;
  REQUIRE(::setrlimit(RLIMIT_STACK, &low) == 0);
  ensure_stack_limit();
  rlimit after{};
  ::getrlimit(RLIMIT_STACK, &after);
  CHECK(after.rlim_cur >= kLeastStackBytes);
}

}  // namespace

}  // namespace cinnabar::hardware
