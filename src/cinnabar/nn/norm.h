// Normalisation layers. Statistics are taken in fp32 for 16-bit inputs (libtorch's kernels do so).
#pragma once

#include "cinnabar/nn/module.h"

namespace cinnabar::nn {

class GroupNorm : public Module {
 public:
  // `channels` must be a multiple of `groups`, else Error{Format}: the numbers come from files.
  GroupNorm(int64_t groups, int64_t channels, double epsilon);
  at::Tensor forward(const at::Tensor& x) const;       // [B, C, ...] -> the same
  at::Tensor forward_silu(const at::Tensor& x) const;  // followed by SiLU

  at::Tensor weight;  // [C]
  at::Tensor bias;    // [C]

 private:
  bool is_fused(const at::Tensor& x) const;

  int64_t groups_;
  double epsilon_;
};

class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t width, double epsilon = 1e-5);
  at::Tensor forward(const at::Tensor& x) const;  // [..., D] -> the same

  at::Tensor weight;  // [D]
  at::Tensor bias;    // [D]

 private:
  int64_t width_;
  double epsilon_;
};

}  // namespace cinnabar::nn
