#include "cinnabar/nn/autoencoder_kl.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>

namespace cinnabar::nn {

AutoencoderKl::AutoencoderKl(const AutoencoderConfig& config) : config_(config), encoder_(config), decoder_(config) {
  add("encoder", encoder_);
  add("decoder", decoder_);
  if (config.has_quant_conv) {
    const int64_t channels = config.latent_channels;
    quant_conv_ =
        std::make_unique<Conv2d>(ConvOptions{.in = 2 * channels, .out = 2 * channels, .kernel = 1, .padding = 0});
    post_quant_conv_ =
        std::make_unique<Conv2d>(ConvOptions{.in = channels, .out = channels, .kernel = 1, .padding = 0});
    add("quant_conv", *quant_conv_);
    add("post_quant_conv", *post_quant_conv_);
  }
}

at::Tensor AutoencoderKl::encode(const at::Tensor& pixels) const {
  at::Tensor moments = encoder_.forward(pixels);
  if (quant_conv_) moments = quant_conv_->forward(moments);
  const auto halves = moments.chunk(2, 1);
  return at::cat({halves[0], at::clamp(halves[1], -30.0, 20.0)}, 1);
}

at::Tensor AutoencoderKl::decode(const at::Tensor& latents) const {
  return decoder_.forward(post_quant_conv_ ? post_quant_conv_->forward(latents) : latents);
}

}  // namespace cinnabar::nn
