// Parts of the KL autoencoder: residual block, one-head attention, encoder and decoder.
#pragma once

#include <memory>
#include <vector>

#include "cinnabar/nn/layer.h"
#include "cinnabar/nn/norm.h"

namespace cinnabar::nn {

struct AutoencoderLevel {
  int64_t width = 0;
  int64_t encoder_blocks = 2;
  int64_t decoder_blocks = 3;
};

struct AutoencoderConfig {
  std::vector<AutoencoderLevel> levels{};  // from full resolution down
  int64_t latent_channels = 4;
  int64_t groups = 32;
  bool has_quant_conv = true;  // quant_conv and post_quant_conv
};

class AutoencoderBlock : public Module {
 public:
  AutoencoderBlock(int64_t in, int64_t out, int64_t groups);
  at::Tensor forward(const at::Tensor& x) const;  // [B, in, H, W] -> [B, out, H, W]; recomputed when checkpointing

 private:
  at::Tensor inner_forward(const at::Tensor& x) const;

  GroupNorm norm1_;
  Conv2d conv1_;
  GroupNorm norm2_;
  Conv2d conv2_;
  std::unique_ptr<Conv2d> shortcut_;  // where the channels change
};

// One head over all positions; its linear layers are 1x1 convolutions.
class AutoencoderAttention : public Module {
 public:
  AutoencoderAttention(int64_t channels, int64_t groups);
  at::Tensor forward(const at::Tensor& x) const;  // [B, C, H, W] -> the same

 private:
  GroupNorm norm_;
  Conv2d q_;
  Conv2d k_;
  Conv2d v_;
  Conv2d proj_out_;
};

class AutoencoderMiddle : public Module {
 public:
  AutoencoderMiddle(int64_t channels, int64_t groups);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  AutoencoderBlock block_1_;
  AutoencoderAttention attn_1_;
  AutoencoderBlock block_2_;
};

class AutoencoderEncoder : public Module {
 public:
  explicit AutoencoderEncoder(const AutoencoderConfig& config);
  at::Tensor forward(const at::Tensor& pixels) const;  // [B, 3, H, W] -> [B, 2 C, h, w]

 private:
  struct Level {
    std::vector<std::unique_ptr<AutoencoderBlock>> blocks;
    std::unique_ptr<Conv2d> downsample;  // null in the last level
  };
  Conv2d conv_in_;
  std::vector<Level> levels_;
  AutoencoderMiddle middle_;
  GroupNorm norm_out_;
  Conv2d conv_out_;
};

class AutoencoderDecoder : public Module {
 public:
  explicit AutoencoderDecoder(const AutoencoderConfig& config);
  at::Tensor forward(const at::Tensor& latents) const;  // [B, C, h, w] -> [B, 3, H, W]

 private:
  struct Level {
    std::vector<std::unique_ptr<AutoencoderBlock>> blocks;
    std::unique_ptr<Conv2d> upsample;  // null in level 0
  };
  Conv2d conv_in_;
  AutoencoderMiddle middle_;
  std::vector<Level> levels_;  // as named: level 0 is the last to run
  GroupNorm norm_out_;
  Conv2d conv_out_;
};

}  // namespace cinnabar::nn
