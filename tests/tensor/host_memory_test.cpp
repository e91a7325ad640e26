#include "cinnabar/tensor/host_memory.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace cinnabar::tensor {
namespace {

constexpr size_t kBytes = size_t{64} << 20;  // above what glibc ever keeps by itself (32 MiB)

// Pages that the system gave for one block that is written to and freed.
int64_t pages_of_a_block() {
  const int64_t before = pages_taken();
  const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(kBytes), &std::free);
  REQUIRE(block != nullptr);
  std::memset(block.get(), 1, kBytes);
  // Read back, or the compiler leaves the block out.
  CHECK(static_cast<volatile char*>(block.get())[kBytes / 2] == 1);
  return pages_taken() - before;
}

TEST_CASE("memory that was freed is taken from the system anew, until it is kept") {
  // With huge pages one fault brings 2 MiB.
  const int64_t least = static_cast<int64_t>(kBytes) / (int64_t{2} << 20) / 2;
  CHECK(pages_of_a_block() >= least);
  CHECK(pages_of_a_block() >= least);
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // these have an allocator of their own
  keep_freed_memory();
  CHECK(pages_of_a_block() >= least);
  CHECK(pages_of_a_block() < least);
#endif
}

}  // namespace
}  // namespace cinnabar::tensor
