#include "nn/counting_allocator.h"

#include <atomic>
#include <cstring>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

namespace cinnabar::test {

namespace {

// Reserves room for the count before each block, a cache line so that blocks stay aligned.
constexpr size_t kHeader = 64;

std::atomic<int64_t> g_now{0};
std::atomic<int64_t> g_peak{0};

void release(void* begin) {
  if (begin == nullptr) return;
  auto* block = static_cast<char*>(begin) - kHeader;
  int64_t bytes = 0;
  std::memcpy(&bytes, block, sizeof(bytes));
  g_now -= bytes;
  c10::free_cpu(block);
}

struct Counter : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    auto* block = static_cast<char*>(c10::alloc_cpu(bytes + kHeader));
    const auto count = static_cast<int64_t>(bytes);
    std::memcpy(block, &count, sizeof(count));
    const int64_t now = g_now += count;
    int64_t peak = g_peak;
    while (now > peak && !g_peak.compare_exchange_weak(peak, now)) {
    }
    void* begin = block + kHeader;
    return {begin, begin, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* target, const void* source, std::size_t count) const override {
    std::memcpy(target, source, count);
  }
};

Counter g_counter;
c10::Allocator* g_before = nullptr;

}  // namespace

CountingAllocator::CountingAllocator() {
  g_before = c10::GetCPUAllocator();
  g_now = 0;
  g_peak = 0;
  c10::SetCPUAllocator(&g_counter);
}

// What is still held is given back through g_counter's function all the same.
CountingAllocator::~CountingAllocator() { c10::SetCPUAllocator(g_before); }

int64_t CountingAllocator::peak_bytes() const { return g_peak; }

}  // namespace cinnabar::test
