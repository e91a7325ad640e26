#include "cinnabar/tensor/parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

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
  static thread_local std::array<Buffer, 3> buffers;
  Buffer& buffer = buffers.at(static_cast<size_t>(slot));
  if (buffer.size < floats) {
    constexpr size_t kAlignment = 64;
    const size_t bytes = (static_cast<size_t>(floats) * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    buffer.memory.reset();
    buffer.memory.reset(static_cast<float*>(std::aligned_alloc(kAlignment, bytes)));
    if (buffer.memory == nullptr) throw std::bad_alloc();
    buffer.size = floats;
  }
  return buffer.memory.get();
}

}  // namespace cinnabar::tensor
