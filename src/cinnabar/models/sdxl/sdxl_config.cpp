#include "cinnabar/models/sdxl/sdxl_config.h"

namespace cinnabar::models::sdxl {

namespace {

constexpr int64_t kSizeVector = 6 * 256;

void complete(SdxlConfig& config) {
  config.text2.activation = nn::Activation::Gelu;
  config.unet.context_width = config.text1.width + config.text2.width;
  config.unet.vector_width = config.pooled_width + kSizeVector;
  config.unet.has_linear_projection = true;
  for (nn::UNetLevel& level : config.unet.levels) level.heads = std::max<int64_t>(1, level.width / kHeadWidth);
  config.unet.middle_heads = config.unet.levels.back().heads;
}

}  // namespace

SdxlConfig full_config() {
  SdxlConfig config;
  config.unet.levels = {{.width = 320}, {.width = 640, .depth = 2}, {.width = 1280, .depth = 10}};
  config.unet.middle_depth = 10;
  config.vae = sd::full_config().vae;
  config.text2 = {.width = 1280, .layers = 32, .heads = 20, .feed_width = 5120};
  complete(config);
  return config;
}

SdxlConfig tiny_config() {
  SdxlConfig config;
  config.unet = {.model_channels = 32,
                 .time_width = 128,
                 .levels = {{.width = 32, .res_blocks = 1},
                            {.width = 64, .res_blocks = 1, .depth = 1},
                            {.width = 128, .res_blocks = 1, .depth = 2}},
                 .middle_depth = 2,
                 .groups = 8};
  config.vae = sd::tiny_config().vae;
  config.text1 = {.width = 32, .layers = 2, .heads = 1, .feed_width = 128};
  config.text2 = {.width = 64, .layers = 2, .heads = 1, .feed_width = 256};
  config.pooled_width = 64;
  complete(config);
  return config;
}

}  // namespace cinnabar::models::sdxl
