#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/flat_pass.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "cinnabar/tensor/parallel.h"

namespace cinnabar::optim {

namespace {

// Multiples of the blocks of 8-bit state. On the CPU below half of libtorch's own grain, so that it never splits one.
constexpr int64_t kCpuPiece = 16384;
constexpr int64_t kDevicePiece = int64_t{1} << 26;

int64_t piece_size(const at::Tensor& buffer) { return buffer.is_cpu() ? kCpuPiece : kDevicePiece; }

// Calls work(piece, begin, count).
template <class Work>
void run_pieces(const at::Tensor& buffer, Span span, const Work& work) {
  const int64_t size = piece_size(buffer);
  const int64_t pieces = (span.end - span.begin + size - 1) / size;
  const auto run = [&](int64_t piece) {
    const at::NoGradGuard no_grad;  // thread-local
    const int64_t begin = span.begin + piece * size;
    work(piece, begin, std::min(size, span.end - begin));
  };
  if (buffer.is_cpu()) {
    tensor::for_units(pieces, run);
  } else {
    for (int64_t piece = 0; piece < pieces; ++piece) run(piece);
  }
}

}  // namespace

void for_pieces(const at::Tensor& buffer, Span span, const std::function<void(int64_t, int64_t)>& work) {
  run_pieces(buffer, span, [&](int64_t /*piece*/, int64_t begin, int64_t count) { work(begin, count); });
}

std::vector<double> sum_pieces(const at::Tensor& buffer, Span span, size_t count,
                               const std::function<at::Tensor(int64_t, int64_t)>& work) {
  const int64_t size = piece_size(buffer);
  std::vector<at::Tensor> partial(static_cast<size_t>((span.end - span.begin + size - 1) / size));
  run_pieces(buffer, span, [&](int64_t piece, int64_t begin, int64_t length) {
    partial[static_cast<size_t>(piece)] = work(begin, length);
  });
  std::vector<double> sums(count, 0.0);
  for (const at::Tensor& part : partial) {
    const at::Tensor host = part.cpu();
    for (size_t i = 0; i < count; ++i) sums[i] += host.const_data_ptr<double>()[i];
  }
  return sums;
}

void for_parameters(const at::Tensor& buffer, int64_t count, const std::function<void(int64_t)>& work) {
  const auto run = [&](int64_t i) {
    const at::NoGradGuard no_grad;
    work(i);
  };
  if (buffer.is_cpu()) {
    tensor::for_units(count, run);
  } else {
    for (int64_t i = 0; i < count; ++i) run(i);
  }
}

at::Tensor sums_of(const std::vector<at::Tensor>& terms) {
  std::vector<at::Tensor> sums;
  for (const at::Tensor& term : terms) sums.push_back(at::sum(term, at::kDouble));
  return at::stack(sums);
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
