#include "cinnabar/nn/norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/silu.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/frozen_layer.h"
#include "cinnabar/nn/fused_elementwise.h"

namespace cinnabar::nn {

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double epsilon) : groups_(groups), epsilon_(epsilon) {
  if (groups <= 0 || channels % groups != 0) {
    throw base::Error(base::ErrorCode::Format, "group normalisation of " + std::to_string(channels) + " channels in " +
                                                   std::to_string(groups) +
                                                   " groups: the channels must be a multiple of the groups. State "
                                                   "group_norm_groups in a NAME.json beside the checkpoint");
  }
  weight = at::empty({channels});
  bias = at::empty({channels});
  add("weight", weight);
  add("bias", bias);
}

bool GroupNorm::is_fused(const at::Tensor& x) const {
  return x.dim() == 4 && x.numel() > 0 && is_frozen_on_cpu(x, weight, bias);
}

at::Tensor GroupNorm::forward_silu(const at::Tensor& x) const {
  if (!is_fused(x)) return at::silu(forward(x));
  return frozen_group_norm(x, weight.to(at::kFloat), bias.to(at::kFloat),
                           {.groups = groups_, .epsilon = epsilon_, .has_silu = true});
}

at::Tensor GroupNorm::forward(const at::Tensor& x) const {
  if (is_fused(x)) {
    return frozen_group_norm(x, weight.to(at::kFloat), bias.to(at::kFloat), {.groups = groups_, .epsilon = epsilon_});
  }
  return at::group_norm(x, groups_, weight.to(x.scalar_type()), bias.to(x.scalar_type()), epsilon_);
}

LayerNorm::LayerNorm(int64_t width, double epsilon) : width_(width), epsilon_(epsilon) {
  weight = at::empty({width});
  bias = at::empty({width});
  add("weight", weight);
  add("bias", bias);
}

at::Tensor LayerNorm::forward(const at::Tensor& x) const {
  return at::layer_norm(x, {width_}, weight.to(x.scalar_type()), bias.to(x.scalar_type()), epsilon_);
}

}  // namespace cinnabar::nn
