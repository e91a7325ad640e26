// An accelerator made of host memory: two devices under libtorch's name for backends from outside, with streams, memory
// statistics, pinned memory and a stand-in for every kernel. What runs on it runs on the same calls as on a GPU, and a
// tensor of the wrong device is an error as there.
#pragma once

#include <cstdint>
#include <vector>

#include <c10/core/Device.h>

namespace cinnabar::test {

// A copy from the CPU to a device.
struct FakeCopy {
  bool is_pinned = false;        // from pinned memory
  bool is_non_blocking = false;  // the program did not wait for it
  int64_t stream = 0;            // that was current
};

struct FakeCounts {
  std::vector<FakeCopy> copies{};
  int64_t synchronizations = 0;  // of a whole device
  int64_t cache_releases = 0;
  int64_t host_reads = 0;  // numbers that the program took from a device, and so waited for
};

// Registers it with libtorch, once for the process; from then on it is what at::accelerator finds.
void register_fake_accelerator();
c10::Device fake_device(int index = 0);

// Since the last call of reset_fake_counts().
const FakeCounts& fake_counts();
void reset_fake_counts();
// Makes stream `id` the current one of this thread on device 0.
void set_fake_stream(int64_t id);

}  // namespace cinnabar::test
