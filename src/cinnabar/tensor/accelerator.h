// What is done with a device besides libtorch's operators: waiting, memory, copies. With device.h the one place that
// knows of accelerators (tools/check_devices); only libtorch's device-generic interface is used, so that the same
// program runs on ROCm, CUDA and the CPU.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace cinnabar::tensor {

// How many accelerators this libtorch sees; 0 with the CPU build.
int64_t accelerator_count();
// The accelerator of that number; device.h has the words that users give. `index` must exist.
at::Device accelerator(int64_t index);

// Until all that was asked of the device is done, so that times mean something. Nothing on the CPU.
void synchronize(at::Device device);

// Of this process, as libtorch's allocator counts.
struct DeviceMemory {
  int64_t used_bytes = 0;      // held by tensors
  int64_t peak_bytes = 0;      // the most at once, since reset_peak_memory
  int64_t reserved_bytes = 0;  // taken from the system, with what is kept for later
};
// Nothing for the CPU.
std::optional<DeviceMemory> device_memory(at::Device device);
// used_bytes alone, for progress; nothing for the CPU.
std::optional<int64_t> used_memory(at::Device device);
void reset_peak_memory(at::Device device);
// Gives back to the system what is kept for later; after memory ran out. Nothing on the CPU.
void release_cached_memory(at::Device device);

// The tensor on `device`: itself when it is there. From the CPU to an accelerator it goes through pinned memory, and
// the copy runs beside the program: operators that use the result wait for it, since they come later on its stream.
at::Tensor to_device(const at::Tensor& x, at::Device device);

}  // namespace cinnabar::tensor
