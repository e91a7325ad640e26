// A U-Net small enough for unit tests, with all kinds of blocks.
#pragma once

#include "cinnabar/nn/initial_values.h"
#include "cinnabar/nn/unet.h"

namespace cinnabar::nn {

inline UNetConfig small_unet_config() {
  return {.model_channels = 8,
          .time_width = 16,
          .levels = {{.width = 8, .res_blocks = 1, .heads = 2}, {.width = 16, .res_blocks = 1, .depth = 1, .heads = 2}},
          .middle_depth = 1,
          .middle_heads = 2,
          .context_width = 12,
          .groups = 4};
}

}  // namespace cinnabar::nn
