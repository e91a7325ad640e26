// The residual block of the U-Net, under its single-file names (in_layers, emb_layers, out_layers, skip_connection).
#pragma once

#include <memory>

#include "cinnabar/nn/layer.h"
#include "cinnabar/nn/norm.h"

namespace cinnabar::nn {

struct ResnetBlockOptions {
  int64_t in = 0;
  int64_t out = 0;
  int64_t time_width = 0;
  int64_t groups = 32;
};

class ResnetBlock : public Module {
 public:
  explicit ResnetBlock(const ResnetBlockOptions& options);
  // x [B, in, H, W], time [B, time_width] -> [B, out, H, W]. Recomputed in backward as one part when checkpointing.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& time) const;

 private:
  at::Tensor inner_forward(const at::Tensor& x, const at::Tensor& time) const;

  GroupNorm norm_in_;
  Conv2d conv_in_;
  Linear time_projection_;
  GroupNorm norm_out_;
  Conv2d conv_out_;
  std::unique_ptr<Conv2d> skip_;  // where the channels change
};

}  // namespace cinnabar::nn
