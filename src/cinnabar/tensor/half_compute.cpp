#include "cinnabar/tensor/half_compute.h"

namespace cinnabar::tensor {

namespace {

bool has_half_arithmetic() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512fp16") != 0;
#else
  return true;  // unknown: left to the library
#endif
}

}  // namespace

bool is_half_slow(const at::Tensor& x) {
  static const bool is_slow_here = !has_half_arithmetic();
  return is_slow_here && x.scalar_type() == at::kHalf && x.device().is_cpu();
}

at::Tensor in_float(const at::Tensor& value) { return value.defined() ? value.to(at::kFloat) : value; }

}  // namespace cinnabar::tensor
