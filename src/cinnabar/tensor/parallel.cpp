#include "cinnabar/tensor/parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include <sys/mman.h>

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>
#include <c10/util/ParallelGuard.h>

namespace cinnabar::tensor {

namespace {

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};

struct Buffer {
  std::unique_ptr<float, Free> memory;
  int64_t size = 0;
};

}  // namespace

void for_units(int64_t units, c10::function_ref<void(int64_t unit)> work) {
  if (units <= 0) return;
  const int64_t threads = std::min<int64_t>(units, at::get_num_threads());
  if (threads <= 1 || at::in_parallel_region()) {
    // What a unit calls works in one thread here as it does below: sums come out the same.
    const c10::ParallelGuard guard(true);
    for (int64_t unit = 0; unit < units; ++unit) work(unit);
    return;
  }
  // An iterator over one byte a thread: the library calls the loop in parallel, once for each byte.
  const at::Tensor bytes = at::empty({threads}, at::TensorOptions().dtype(at::kByte));
  at::TensorIterator iterator = at::TensorIteratorConfig()
                                    .add_borrowed_output(bytes)
                                    .resize_outputs(false)
                                    .set_check_mem_overlap(false)
                                    .check_all_same_dtype(false)
                                    .build();
  std::atomic<int64_t> next{0};
  iterator.for_each(
      [&](char** /*data*/, const int64_t* /*strides*/, int64_t /*inner*/, int64_t /*outer*/) {
        for (int64_t unit = next.fetch_add(1); unit < units; unit = next.fetch_add(1)) work(unit);
      },
      /*grain_size=*/1);
}

void for_ranges(int64_t count, int64_t piece, c10::function_ref<void(int64_t begin, int64_t end)> work) {
  for_units((count + piece - 1) / piece,
            [&](int64_t unit) { work(unit * piece, std::min(count, (unit + 1) * piece)); });
}

float* thread_scratch(Scratch slot, int64_t floats) {
  static thread_local std::array<Buffer, 4> buffers;
  Buffer& buffer = buffers.at(static_cast<size_t>(slot));
  if (buffer.size < floats) {
    constexpr size_t kLine = 64;
    constexpr size_t kLargePage = size_t{2} << 20;
    const size_t wanted = static_cast<size_t>(floats) * sizeof(float);
    const size_t alignment = wanted >= kLargePage ? kLargePage : kLine;
    const size_t bytes = (wanted + alignment - 1) / alignment * alignment;
    buffer.memory.reset();
    buffer.size = 0;
    buffer.memory.reset(static_cast<float*>(std::aligned_alloc(alignment, bytes)));
    if (buffer.memory == nullptr) throw std::bad_alloc();
    // A wish: many rows far apart are read at once, and without large pages that is only slower.
    if (alignment == kLargePage) ::madvise(buffer.memory.get(), bytes, MADV_HUGEPAGE);
    buffer.size = floats;
  }
  return buffer.memory.get();
}

}  // namespace cinnabar::tensor
