#include "cinnabar/models/sd/block_names.h"

#include <doctest/doctest.h>

#include "cinnabar/nn/autoencoder_kl.h"
#include "cinnabar/nn/unet.h"

namespace cinnabar::models::sd {

namespace {

const UNetLayout kPublished{.res_blocks = {2, 2, 2, 2}, .has_attention = {true, true, true, false}};

}  // namespace

TEST_CASE("the published U-Net's blocks have diffusers' names") {
  const BlockNames names = BlockNames::of_unet(kPublished);
  const auto check = [&](const std::string& single_file, const std::string& diffusers) {
    CAPTURE(single_file);
    CHECK(names.to_diffusers(single_file).value_or("") == diffusers);
    CHECK(names.to_single_file(diffusers).value_or("") == single_file);
  };
  check("time_embed.2.bias", "time_embedding.linear_2.bias");
  check("input_blocks.0.0.weight", "conv_in.weight");
  check("input_blocks.2.0.in_layers.2.weight", "down_blocks.0.resnets.1.conv1.weight");
  check("input_blocks.3.0.op.bias", "down_blocks.0.downsamplers.0.conv.bias");
  check("input_blocks.8.1.transformer_blocks.0.attn1.to_out.0.weight",
        "down_blocks.2.attentions.1.transformer_blocks.0.attn1.to_out.0.weight");
  check("input_blocks.11.0.emb_layers.1.weight", "down_blocks.3.resnets.1.time_emb_proj.weight");
  check("middle_block.2.out_layers.3.bias", "mid_block.resnets.1.conv2.bias");
  check("output_blocks.2.1.conv.weight", "up_blocks.0.upsamplers.0.conv.weight");
  check("output_blocks.5.2.conv.weight", "up_blocks.1.upsamplers.0.conv.weight");
  check("output_blocks.11.0.skip_connection.weight", "up_blocks.3.resnets.2.conv_shortcut.weight");
  check("output_blocks.11.1.proj_in.weight", "up_blocks.3.attentions.2.proj_in.weight");
  check("out.0.weight", "conv_norm_out.weight");
  CHECK_FALSE(names.to_diffusers("input_blocks.12.0.op.bias").has_value());
  CHECK_FALSE(names.to_diffusers("input_blocks.1.2.weight").has_value());
}

TEST_CASE("the autoencoder's decoder levels are counted from the other end") {
  const BlockNames names = BlockNames::of_vae(4, 3);
  const auto check = [&](const std::string& single_file, const std::string& diffusers) {
    CAPTURE(single_file);
    CHECK(names.to_diffusers(single_file).value_or("") == diffusers);
    CHECK(names.to_single_file(diffusers).value_or("") == single_file);
  };
  check("encoder.down.1.block.0.nin_shortcut.weight", "encoder.down_blocks.1.resnets.0.conv_shortcut.weight");
  check("encoder.down.0.downsample.conv.weight", "encoder.down_blocks.0.downsamplers.0.conv.weight");
  check("decoder.up.3.block.2.conv1.weight", "decoder.up_blocks.0.resnets.2.conv1.weight");
  check("decoder.up.1.upsample.conv.bias", "decoder.up_blocks.2.upsamplers.0.conv.bias");
  check("decoder.mid.attn_1.proj_out.weight", "decoder.mid_block.attentions.0.to_out.0.weight");
  check("decoder.norm_out.weight", "decoder.conv_norm_out.weight");
  check("post_quant_conv.bias", "post_quant_conv.bias");
  // Older diffusers versions.
  CHECK(names.to_single_file("encoder.mid_block.attentions.0.query.weight").value_or("") ==
        "encoder.mid.attn_1.q.weight");
}

TEST_CASE("every parameter of a U-Net and an autoencoder goes there and back") {
  nn::UNet unet({.model_channels = 8,
                 .time_width = 8,
                 .levels = {{.width = 8, .res_blocks = 1},
                            {.width = 8, .res_blocks = 3, .depth = 2},
                            {.width = 16, .res_blocks = 1}},
                 .context_width = 8,
                 .vector_width = 4,
                 .groups = 4});
  const BlockNames names = BlockNames::of_unet({.res_blocks = {1, 3, 1}, .has_attention = {false, true, false}});
  unet.each_parameter("", [&](const std::string& name, at::Tensor&) {
    CAPTURE(name);
    const auto diffusers = names.to_diffusers(name);
    REQUIRE(diffusers.has_value());
    CHECK(names.to_single_file(*diffusers).value_or("") == name);
  });
  nn::AutoencoderKl vae({.levels = {{.width = 8}, {.width = 16}}, .groups = 4});
  const BlockNames vae_names = BlockNames::of_vae(2, 3);
  vae.each_parameter("", [&](const std::string& name, at::Tensor&) {
    CAPTURE(name);
    const auto diffusers = vae_names.to_diffusers(name);
    REQUIRE(diffusers.has_value());
    CHECK(vae_names.to_single_file(*diffusers).value_or("") == name);
  });
}

}  // namespace cinnabar::models::sd
