// Inputs and comparisons of the tests of CPU kernels: numbers in double, which the kernels see rounded to their type.
#pragma once

#include <ATen/ATen.h>

namespace cinnabar::nn {

inline at::Tensor numbers(at::IntArrayRef shape) { return at::randn(shape, at::TensorOptions().dtype(at::kDouble)); }

inline at::Tensor leaf(const at::Tensor& value, at::ScalarType type) {
  return value.to(type).clone().requires_grad_(true);
}

// Largest difference over the largest number expected.
inline double error(const at::Tensor& found, const at::Tensor& expected) {
  return ((found.to(at::kDouble) - expected).abs().max() / expected.abs().max()).item<double>();
}

}  // namespace cinnabar::nn
