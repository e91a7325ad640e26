// Small models of the SD 2 and SDXL layouts.
#pragma once

#include <memory>

#include "cinnabar/models/sd/sd_model.h"
#include "cinnabar/models/sdxl/sdxl_model.h"

namespace cinnabar::models {

// The sizes of sd::small_model: U-Net widths 16 and 32, two text layers of width 12, vocabulary 50, 9 positions.
std::unique_ptr<sd::SdModel> small_sd2(uint64_t seed = 1);

// Text encoders of widths 12 (three layers) and 8 (two layers), pooled width 8, six sizes of 4 sinusoids each; U-Net
// widths 16 and 32 with two transformer blocks in the second level.
sdxl::SdxlConfig small_sdxl_config();
std::unique_ptr<sdxl::SdxlModel> small_sdxl(uint64_t seed = 1);

}  // namespace cinnabar::models
