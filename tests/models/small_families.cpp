#include "models/small_families.h"

#include <ATen/ATen.h>

#include "cinnabar/models/sd/file_names.h"
#include "cinnabar/nn/initial_values.h"
#include "models/small_model.h"

namespace cinnabar::models {

std::unique_ptr<sd::SdModel> small_sd2(uint64_t seed) {
  sd::SdConfig config = sd::small_config();
  config.text.activation = nn::Activation::Gelu;
  config.unet.has_linear_projection = true;
  for (nn::UNetLevel& level : config.unet.levels) level.heads = 1;
  config.unet.middle_heads = 1;
  sd::SdParts parts{.text = std::make_unique<nn::ClipText>(config.text),
                    .unet = std::make_unique<nn::UNet>(config.unet),
                    .vae = std::make_unique<nn::AutoencoderKl>(config.vae)};
  nn::set_initial_values(*parts.text, "text", seed);
  nn::set_initial_values(*parts.unet, "unet", seed);
  nn::set_initial_values(*parts.vae, "vae", seed);
  ModelInfo info;
  info.family = "sd2";
  return std::make_unique<sd::SdModel>(info, std::move(parts),
                                       sd::SdText{.end_token = config.end_token,
                                                  .padding = text::Padding::Zero,
                                                  .file_prefix = "cond_stage_model.model.",
                                                  .is_open_clip = true});
}

sdxl::SdxlConfig small_sdxl_config() {
  sdxl::SdxlConfig config;
  config.unet = {
      .model_channels = 16,
      .time_width = 32,
      .levels = {{.width = 16, .res_blocks = 1, .heads = 1}, {.width = 32, .res_blocks = 1, .depth = 2, .heads = 1}},
      .middle_depth = 2,
      .middle_heads = 1,
      .context_width = 20,
      .vector_width = 8 + 6 * 4,
      .groups = 4,
      .has_linear_projection = true};
  config.vae = sd::small_config().vae;
  config.text1 = {.vocabulary = 50, .positions = 9, .width = 12, .layers = 3, .heads = 1, .feed_width = 24};
  config.text2 = {.vocabulary = 50,
                  .positions = 9,
                  .width = 8,
                  .layers = 2,
                  .heads = 1,
                  .feed_width = 16,
                  .activation = nn::Activation::Gelu};
  config.pooled_width = 8;
  config.end_token2 = 49;
  return config;
}

std::unique_ptr<sdxl::SdxlModel> small_sdxl(uint64_t seed) {
  const sdxl::SdxlConfig config = small_sdxl_config();
  sdxl::SdxlParts parts{.text1 = std::make_unique<nn::ClipText>(config.text1),
                        .text2 = std::make_unique<sdxl::PooledClipText>(config.text2, 8, 8, false),
                        .unet = std::make_unique<nn::UNet>(config.unet),
                        .vae = std::make_unique<nn::AutoencoderKl>(config.vae)};
  nn::set_initial_values(*parts.text1, "text1", seed);
  nn::set_initial_values(*parts.text2, "text2", seed);
  nn::set_initial_values(*parts.unet, "unet", seed);
  nn::set_initial_values(*parts.vae, "vae", seed);
  parts.text2->projection().copy_(at::arange(64).view({8, 8}) * 0.01);
  ModelInfo info;
  info.family = "sdxl";
  return std::make_unique<sdxl::SdxlModel>(info, std::move(parts), config);
}

}  // namespace cinnabar::models
