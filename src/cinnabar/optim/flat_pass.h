// Passes over flat buffers in pieces that stay in the cache. One code serves CPU and GPU, and results do not depend on
// the number of threads: pieces are fixed, and within a piece libtorch works in one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace cinnabar::optim {

// Elements [begin, end) of a buffer.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

// Calls `work(begin, count)` for consecutive pieces of `span`, in parallel on the CPU; a GPU gets large pieces, which
// bound the memory of intermediate values. `buffer` only says where the data lie. Without gradient recording.
void for_pieces(const at::Tensor& buffer, Span span, const std::function<void(int64_t begin, int64_t count)>& work);

// The same, where `work` returns sums: a 1-d fp64 tensor of `count` numbers. Adds them up in the order of the pieces.
std::vector<double> sum_pieces(const at::Tensor& buffer, Span span, size_t count,
                               const std::function<at::Tensor(int64_t begin, int64_t count)>& work);

// Calls `work(index)` for each of `count` parameters; on the CPU in parallel with one thread a parameter.
void for_parameters(const at::Tensor& buffer, int64_t count, const std::function<void(int64_t index)>& work);

// 1-d fp64 tensor of sums over all elements: what `work` of sum_pieces returns.
at::Tensor sums_of(const std::vector<at::Tensor>& terms);

}  // namespace cinnabar::optim
