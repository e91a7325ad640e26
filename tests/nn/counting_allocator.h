// Counts what tensors on the CPU hold, for assertions on memory.
#pragma once

#include <cstdint>

namespace cinnabar::test {

// While it lives, allocations of CPU tensors of this process are counted. One at a time.
class CountingAllocator {
 public:
  CountingAllocator();
  ~CountingAllocator();
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;

  // The most bytes that were held at once since the construction, beyond what was held then.
  int64_t peak_bytes() const;
};

}  // namespace cinnabar::test
