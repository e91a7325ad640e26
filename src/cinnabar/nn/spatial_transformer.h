// The U-Net's transformer: self-attention, attention to the text and a gated feed-forward part over all positions.
#pragma once

#include <memory>
#include <vector>

#include "cinnabar/nn/activation.h"
#include "cinnabar/nn/attention.h"
#include "cinnabar/nn/norm.h"

namespace cinnabar::nn {

class TransformerBlock : public Module {
 public:
  TransformerBlock(int64_t width, int64_t context_width, int64_t heads);
  // x [B, T, D], context [B, K, C] -> [B, T, D]. Recomputed in backward as one part when checkpointing.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& context) const;

 private:
  at::Tensor inner_forward(const at::Tensor& x, const at::Tensor& context) const;

  CrossAttention attn1_;
  Geglu gate_;
  Linear feed_out_;
  CrossAttention attn2_;
  LayerNorm norm1_;
  LayerNorm norm2_;
  LayerNorm norm3_;
};

struct SpatialTransformerOptions {
  int64_t channels = 0;
  int64_t context_width = 0;
  int64_t heads = 8;
  int64_t depth = 1;
  int64_t groups = 32;
  bool has_linear_projection = false;  // proj_in and proj_out as linear layers, else 1x1 convolutions
};

class SpatialTransformer : public Module {
 public:
  explicit SpatialTransformer(const SpatialTransformerOptions& options);
  at::Tensor forward(const at::Tensor& x, const at::Tensor& context) const;  // [B, C, H, W], [B, K, W'] -> like x

 private:
  bool has_linear_projection_;
  GroupNorm norm_;
  std::unique_ptr<Layer> proj_in_;
  std::vector<std::unique_ptr<TransformerBlock>> blocks_;
  std::unique_ptr<Layer> proj_out_;
};

}  // namespace cinnabar::nn
