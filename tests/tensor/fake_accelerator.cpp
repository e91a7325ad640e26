#include "tensor/fake_accelerator.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

namespace cinnabar::test {

namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr int kDevices = 2;

FakeCounts g_counts;
std::mutex g_mutex;
std::map<void*, std::pair<size_t, int>> g_blocks;  // of device memory: bytes and device
std::set<const void*> g_pinned;
std::array<int64_t, kDevices> g_now{};
std::array<int64_t, kDevices> g_peak{};
thread_local int g_current = 0;
thread_local std::array<int64_t, kDevices> g_stream{};

void free_block(void* block) {
  if (block == nullptr) return;
  const std::lock_guard lock(g_mutex);
  const auto found = g_blocks.find(block);
  g_now[static_cast<size_t>(found->second.second)] -= static_cast<int64_t>(found->second.first);
  g_blocks.erase(found);
  std::free(block);
}

void free_pinned(void* block) {
  const std::lock_guard lock(g_mutex);
  g_pinned.erase(block);
  std::free(block);
}

struct FakeMemory : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    const int device = g_current;
    void* block = bytes == 0 ? nullptr : std::calloc(1, bytes);
    if (block != nullptr) {
      const std::lock_guard lock(g_mutex);
      g_blocks[block] = {bytes, device};
      const auto place = static_cast<size_t>(device);
      g_now[place] += static_cast<int64_t>(bytes);
      g_peak[place] = std::max(g_peak[place], g_now[place]);
    }
    return {block, block, &free_block, c10::Device(kType, static_cast<c10::DeviceIndex>(device))};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* target, const void* source, std::size_t count) const override {
    std::memcpy(target, source, count);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { ++g_counts.cache_releases; }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    const auto place = static_cast<size_t>(device);
    stats.allocated_bytes[0].current = g_now[place];
    stats.allocated_bytes[0].peak = g_peak[place];
    stats.reserved_bytes[0].current = g_now[place] + 1024;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex device) override {
    g_peak[static_cast<size_t>(device)] = g_now[static_cast<size_t>(device)];
  }
};

struct PinnedMemory : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* block = std::malloc(bytes == 0 ? 1 : bytes);
    const std::lock_guard lock(g_mutex);
    g_pinned.insert(block);
    return {block, block, &free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* target, const void* source, std::size_t count) const override {
    std::memcpy(target, source, count);
  }
};

FakeMemory g_memory;
PinnedMemory g_pinned_memory;

struct Hooks : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isPinnedPtr(const void* data) const override {
    const std::lock_guard lock(g_mutex);
    return g_pinned.contains(data);
  }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &g_pinned_memory; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(g_current); }
  void setCurrentDevice(c10::DeviceIndex device) const override { g_current = device; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return static_cast<c10::DeviceIndex>(std::exchange(g_current, static_cast<int>(device)));
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override { return exchangeDevice(device); }
};

c10::Stream stream_of(c10::Device device, int64_t id) { return c10::Stream(c10::Stream::UNSAFE, device, id); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    return {kType, static_cast<c10::DeviceIndex>(std::exchange(g_current, static_cast<int>(device.index())))};
  }
  c10::Device getDevice() const override { return {kType, static_cast<c10::DeviceIndex>(g_current)}; }
  void setDevice(c10::Device device) const override { g_current = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { g_current = device.index(); }
  c10::Stream getStream(c10::Device device) const override {
    return stream_of(device, g_stream[static_cast<size_t>(std::max<int>(device.index(), 0))]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream_of(device, 0); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return stream_of(device, 1); }
  c10::Stream getNewStream(c10::Device device, int) const override { return stream_of(device, 2); }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const auto place = static_cast<size_t>(stream.device_index());
    return stream_of(stream.device(), std::exchange(g_stream[place], stream.id()));
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(c10::DeviceIndex) const override { ++g_counts.synchronizations; }
};

// The same memory as a tensor of the CPU.
at::Tensor on_host(const at::Tensor& x) {
  if (x.is_cpu()) return x;
  return at::from_blob(x.data_ptr(), x.sizes(), x.strides(), x.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool is_non_blocking) {
  if (source.is_cpu() && !target.is_cpu()) {
    g_counts.copies.push_back({.is_pinned = g_pinned.contains(source.storage().data()),
                               .is_non_blocking = is_non_blocking,
                               .stream = g_stream[static_cast<size_t>(target.device().index())]});
  }
  on_host(target).copy_(on_host(source));
  return target;
}

at::Tensor copy_and_resize(const at::Tensor& source, const at::Tensor& target) {
  if (target.sizes() != source.sizes()) at::native::resize_(target, source.sizes(), std::nullopt);
  return copy_from(source, target, false);
}

c10::Device device_or_current(std::optional<c10::Device> device) {
  return device && device->has_index() ? *device : c10::Device(kType, static_cast<c10::DeviceIndex>(g_current));
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(device_or_current(device));
  return at::detail::empty_generic(size, &g_memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(device_or_current(device));
  return at::detail::empty_strided_generic(size, stride, &g_memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(type));
}

at::Scalar read_number(const at::Tensor& x) {
  ++g_counts.host_reads;
  return on_host(x).item();
}

at::Tensor to_device_of(const at::Tensor& like, const at::Tensor& x) { return x.defined() ? x.to(like.device()) : x; }

// Convolutions of backends from outside have operators of their own.
at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       c10::SymIntArrayRef stride, c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                       bool is_transposed, c10::SymIntArrayRef output_padding, c10::SymInt groups) {
  const std::optional<at::Tensor> host_bias =
      bias && bias->defined() ? std::optional(on_host(*bias)) : std::optional<at::Tensor>();
  return to_device_of(x, at::convolution_symint(on_host(x), on_host(weight), host_bias, stride, padding, dilation,
                                                is_transposed, output_padding, groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight, c10::SymIntArrayRef stride,
    c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool is_transposed, c10::SymIntArrayRef output_padding,
    c10::SymInt groups, std::array<bool, 3> mask) {
  const std::vector<c10::SymInt> bias_size = {weight.sym_size(0)};
  const auto [to_x, to_weight, to_bias] =
      at::convolution_backward_symint(on_host(gradient), on_host(x), on_host(weight), c10::SymIntArrayRef(bias_size),
                                      stride, padding, dilation, is_transposed, output_padding, groups, mask);
  return {to_device_of(x, to_x), to_device_of(x, to_weight), to_device_of(x, to_bias)};
}

// Every other kernel: the CPU's, on copies. Single numbers may come from the CPU, as on a GPU.
void by_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  for (const c10::IValue& value : torch::jit::last(*stack, op.schema().arguments().size())) {
    const bool is_foreign =
        value.isTensor() && value.toTensor().defined() && value.toTensor().is_cpu() && value.toTensor().dim() > 0;
    TORCH_CHECK(!is_foreign, op.schema().name(), ": a tensor of the CPU among those of a device");
  }
  at::native::cpu_fallback(op, stack);
}

Hooks g_hooks;

}  // namespace

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&by_the_cpu>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_and_resize);
  m.impl("_local_scalar_dense", &read_number);
  m.impl("convolution_overrideable", &convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("resize_", TORCH_FN(at::native::resize_));
  m.impl("set_.source_Storage_storage_offset",
         [](at::Tensor& x, at::Storage storage, int64_t offset, c10::IntArrayRef size,
            c10::IntArrayRef stride) -> at::Tensor& {
           x.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(storage));
           x.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, offset);
           return x;
         });
}

void register_fake_accelerator() {
  static const bool is_done = [] {
    c10::register_privateuse1_backend("fake");
    c10::SetAllocator(kType, &g_memory);
    at::RegisterPrivateUse1HooksInterface(&g_hooks);
    return true;
  }();
  static_cast<void>(is_done);
}

c10::Device fake_device(int index) { return {kType, static_cast<c10::DeviceIndex>(index)}; }

const FakeCounts& fake_counts() { return g_counts; }

void reset_fake_counts() { g_counts = {}; }

void set_fake_stream(int64_t id) { g_stream[0] = id; }

}  // namespace cinnabar::test
