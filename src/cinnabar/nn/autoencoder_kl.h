// The KL autoencoder of latent diffusion models under its single-file names.
#pragma once

#include <memory>

#include "cinnabar/nn/autoencoder_parts.h"

namespace cinnabar::nn {

class AutoencoderKl : public Module {
 public:
  explicit AutoencoderKl(const AutoencoderConfig& config);

  // pixels [B, 3, H, W] in [-1, 1] -> [B, 2 C, h, w]: mean and log variance, the latter clamped to [-30, 20].
  at::Tensor encode(const at::Tensor& pixels) const;
  // Unscaled latents [B, C, h, w] -> [B, 3, H, W], not clamped.
  at::Tensor decode(const at::Tensor& latents) const;
  const AutoencoderConfig& config() const { return config_; }
  // Pixels per latent on a side.
  int64_t downscale() const { return int64_t{1} << (config_.levels.size() - 1); }

 private:
  AutoencoderConfig config_;
  AutoencoderEncoder encoder_;
  AutoencoderDecoder decoder_;
  std::unique_ptr<Conv2d> quant_conv_;
  std::unique_ptr<Conv2d> post_quant_conv_;
};

}  // namespace cinnabar::nn
