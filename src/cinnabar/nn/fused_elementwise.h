// Group normalisation with SiLU, and gates, each as one autograd node for frozen parameters on the CPU in fp32. Kept
// for backward: the input alone; everything in between is computed again.
#pragma once

#include <ATen/core/Tensor.h>

namespace cinnabar::nn {

struct GroupNormOptions {
  int64_t groups = 32;
  double epsilon = 1e-5;
  bool has_silu = false;
};

// x [B, C, H, W]; weight and bias [C], without gradient. Result channels last, whatever the layout of x.
at::Tensor frozen_group_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const GroupNormOptions& options);

// Whether gated() can take x: fp32 on a CPU with kernels.
bool is_gate_fused(const at::Tensor& x);
// x [..., 2 D] -> [..., D]: the first half times gelu of the second, with erf to 1.5e-7.
at::Tensor gated(const at::Tensor& x);

}  // namespace cinnabar::nn
