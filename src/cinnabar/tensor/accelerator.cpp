#include "cinnabar/tensor/accelerator.h"

#include <ATen/DeviceAccelerator.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace cinnabar::tensor {

namespace {

// Over small and large blocks together.
int64_t current(const c10::CachingAllocator::StatArray& stats) { return stats[0].current; }
int64_t peak(const c10::CachingAllocator::StatArray& stats) { return stats[0].peak; }

}  // namespace

int64_t accelerator_count() { return at::accelerator::deviceCount(); }

at::Device accelerator(int64_t index) {
  return {at::accelerator::getAccelerator(true).value(), static_cast<c10::DeviceIndex>(index)};
}

void synchronize(at::Device device) {
  if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
}

std::optional<DeviceMemory> device_memory(at::Device device) {
  if (device.is_cpu()) return std::nullopt;
  const auto stats = at::accelerator::getDeviceStats(device.index());
  return DeviceMemory{.used_bytes = current(stats.allocated_bytes),
                      .peak_bytes = peak(stats.allocated_bytes),
                      .reserved_bytes = current(stats.reserved_bytes)};
}

std::optional<int64_t> used_memory(at::Device device) {
  const auto memory = device_memory(device);
  return memory ? std::optional(memory->used_bytes) : std::nullopt;
}

void reset_peak_memory(at::Device device) {
  if (!device.is_cpu()) at::accelerator::resetPeakStats(device.index());
}

void release_cached_memory(at::Device device) {
  if (!device.is_cpu()) at::accelerator::emptyCache();
}

at::Tensor to_device(const at::Tensor& x, at::Device device) {
  if (x.device() == device) return x;
  if (!x.device().is_cpu() || device.is_cpu()) return x.to(device);
  return (x.is_pinned() ? x : x.pin_memory()).to(device, /*non_blocking=*/true);
}

}  // namespace cinnabar::tensor
