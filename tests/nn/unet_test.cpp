#include "cinnabar/nn/unet.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <set>

#include "cinnabar/base/error.h"
#include "nn/small_unet.h"

namespace cinnabar::nn {

namespace {

std::set<std::string> names_of(Module& module) {
  std::set<std::string> names;
  module.each_parameter("", [&](const std::string& name, at::Tensor&) { names.insert(name); });
  return names;
}

}  // namespace

TEST_CASE("any latent size gives a prediction of the same size") {
  UNet unet(small_unet_config());
  set_initial_values(unet, "", 1);
  const at::NoGradGuard no_gradients;
  const at::Tensor context = at::randn({2, 5, 12});
  const at::Tensor t = at::tensor({3, 900}, at::kLong);
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{8, 8}, {7, 5}, {1, 2}}) {
    const at::Tensor x = at::randn({2, 4, height, width});
    CHECK(unet.forward(x, t, context).sizes() == x.sizes());
  }
}

TEST_CASE("bf16 gives the fp32 prediction to its precision") {
  UNet unet(small_unet_config());
  set_initial_values(unet, "", 1);
  const at::NoGradGuard no_gradients;
  const at::Tensor x = at::randn({1, 4, 6, 6});
  const at::Tensor t = at::tensor({500}, at::kLong);
  const at::Tensor context = at::randn({1, 5, 12});
  const at::Tensor wide = unet.forward(x, t, context);
  unet.to(at::kBFloat16);
  const at::Tensor narrow = unet.forward(x.to(at::kBFloat16), t, context.to(at::kBFloat16));
  CHECK((narrow.scalar_type() == at::kBFloat16));
  // About 20 roundings of 2^-9 in a row, on values around 1.
  CHECK((narrow.to(at::kFloat) - wide).abs().max().item<double>() < 0.1);
}

TEST_CASE("depths a level, linear projections and an added vector are built as configured") {
  UNetConfig config = small_unet_config();
  config.levels.push_back({.width = 16, .res_blocks = 2, .depth = 3, .heads = 2});
  config.middle_depth = 2;
  config.vector_width = 10;
  config.has_linear_projection = true;
  UNet unet(config);
  set_initial_values(unet, "", 1);
  const std::set<std::string> names = names_of(unet);
  CHECK(names.contains("label_emb.0.2.weight"));
  CHECK(names.contains("input_blocks.4.0.op.weight"));
  CHECK(names.contains("input_blocks.6.1.transformer_blocks.2.attn2.to_out.0.bias"));
  CHECK_FALSE(names.contains("input_blocks.6.1.transformer_blocks.3.norm1.weight"));
  CHECK(names.contains("middle_block.1.transformer_blocks.1.ff.net.0.proj.weight"));
  CHECK(names.contains("output_blocks.2.2.conv.weight"));
  CHECK_FALSE(names.contains("output_blocks.6.1.norm.weight"));
  unet.each_layer("", [](const std::string& name, Layer& layer) {
    if (name.ends_with("proj_in")) CHECK_FALSE(layer.shape().is_convolution);
  });
  const at::NoGradGuard no_gradients;
  const at::Tensor x = at::randn({1, 4, 8, 8});
  const at::Tensor t = at::tensor({1.0F});
  const at::Tensor context = at::randn({1, 5, 12});
  const at::Tensor plain = unet.forward(x, t, context, at::zeros({1, 10}));
  CHECK(plain.sizes() == x.sizes());
  CHECK_FALSE(at::allclose(plain, unet.forward(x, t, context, at::ones({1, 10}))));
}

TEST_CASE("channels that groups do not divide are refused with the numbers") {
  UNetConfig config = small_unet_config();
  config.groups = 3;
  CHECK_THROWS_WITH_AS(UNet{config}, doctest::Contains("8 channels in 3 groups"), base::Error);
}

}  // namespace cinnabar::nn
