#include "cinnabar/nn/timestep_embedding.h"

#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include "cinnabar/base/error.h"

namespace cinnabar::nn {

at::Tensor timestep_embedding(const at::Tensor& t, int64_t width) {
  CINNABAR_ASSERT(width % 2 == 0 && t.dim() == 1);
  const int64_t half = width / 2;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(t.device());
  const at::Tensor rates = (at::arange(half, options) * (-std::log(10000.0) / static_cast<double>(half))).exp();
  const at::Tensor angles = t.to(at::kFloat).unsqueeze(1) * rates.unsqueeze(0);  // [N, half]
  return at::cat({angles.cos(), angles.sin()}, 1);
}

}  // namespace cinnabar::nn
