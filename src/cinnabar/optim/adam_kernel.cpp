// Compiled for vector code and without fused multiply-add (CMakeLists.txt), so that an element gets the same bits
// wherever a thread's share begins.
#include "cinnabar/optim/adam_kernel.h"

#include <algorithm>
#include <cmath>

namespace cinnabar::optim {

namespace {

template <bool kHasLargest>
void step_span(const AdamArrays& arrays, int64_t begin, int64_t end,
               const AdamCoefficients c) {  // a copy: aliases nothing
  float* __restrict__ values = arrays.values;
  const float* __restrict__ gradients = arrays.gradients;
  float* __restrict__ means = arrays.means;
  float* __restrict__ squares = arrays.squares;
  float* __restrict__ largest = arrays.largest;
  for (int64_t i = begin; i < end; ++i) {
    const float gradient = gradients[i] + c.decay * values[i];
    const float mean = means[i] + c.new_mean * (gradient - means[i]);
    const float square = c.beta2 * squares[i] + c.new_square * gradient * gradient;
    float root = square;
    if constexpr (kHasLargest) {
      root = std::max(largest[i], square);
      largest[i] = root;
    }
    means[i] = mean;
    squares[i] = square;
    values[i] = values[i] * c.keep - c.step_size * (mean / (std::sqrt(root) / c.root_scale + c.eps));
  }
}

}  // namespace

void adam_step(const AdamArrays& arrays, int64_t begin, int64_t end, const AdamCoefficients& coefficients) {
  if (arrays.largest != nullptr) {
    step_span<true>(arrays, begin, end, coefficients);
  } else {
    step_span<false>(arrays, begin, end, coefficients);
  }
}

}  // namespace cinnabar::optim
