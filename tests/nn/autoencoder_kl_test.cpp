#include "cinnabar/nn/autoencoder_kl.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "cinnabar/nn/initial_values.h"

namespace cinnabar::nn {

namespace {

AutoencoderConfig small_config() {
  return {.levels = {{.width = 4, .encoder_blocks = 1, .decoder_blocks = 2},
                     {.width = 8, .encoder_blocks = 1, .decoder_blocks = 2},
                     {.width = 8, .encoder_blocks = 1, .decoder_blocks = 2}},
          .groups = 2};
}

}  // namespace

TEST_CASE("the downscale follows the levels") {
  AutoencoderKl vae(small_config());
  set_initial_values(vae, "", 1);
  const at::NoGradGuard no_gradients;
  CHECK(vae.downscale() == 4);
  CHECK(vae.encode(at::zeros({1, 3, 16, 12})).sizes() == at::IntArrayRef({1, 8, 4, 3}));
  CHECK(vae.decode(at::zeros({1, 4, 4, 3})).sizes() == at::IntArrayRef({1, 3, 16, 12}));
}

TEST_CASE("log variances are clamped, means are not") {
  AutoencoderKl vae(small_config());
  set_initial_values(vae, "", 1);
  const at::NoGradGuard no_gradients;
  vae.each_parameter("", [](const std::string& name, at::Tensor& value) {
    if (name == "quant_conv.bias") value.fill_(100.0);
  });
  const at::Tensor moments = vae.encode(at::zeros({1, 3, 8, 8}));
  CHECK(moments.slice(1, 0, 4).min().item<double>() > 90.0);
  CHECK(moments.slice(1, 4).max().item<double>() == 20.0);
}

TEST_CASE("quantisation convolutions are optional, bf16 runs, gradients reach the decoder") {
  AutoencoderConfig config = small_config();
  config.has_quant_conv = false;
  AutoencoderKl vae(config);
  set_initial_values(vae, "", 1);
  bool has_quant_conv = false;
  vae.each_parameter("", [&](const std::string& name, at::Tensor&) {
    has_quant_conv = has_quant_conv || name.find("quant_conv") != std::string::npos;
  });
  CHECK_FALSE(has_quant_conv);
  vae.to(at::kBFloat16);
  vae.requires_grad(true);
  vae.train(true);
  vae.set_checkpointing(true);
  vae.decode(at::zeros({1, 4, 2, 2}, at::kBFloat16)).sum().backward();
  vae.each_parameter("", [](const std::string& name, at::Tensor& value) {
    CAPTURE(name);
    CHECK(value.grad().defined() == name.starts_with("decoder."));
  });
}

}  // namespace cinnabar::nn
