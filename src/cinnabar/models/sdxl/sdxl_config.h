// Sizes of an SDXL model.
#pragma once

#include <algorithm>

#include "cinnabar/models/sd/config.h"

namespace cinnabar::models::sdxl {

// Channels of one head of the U-Net.
inline constexpr int64_t kHeadWidth = 64;

struct SdxlConfig {
  nn::UNetConfig unet;
  nn::AutoencoderConfig vae;
  nn::ClipTextConfig text1;     // CLIP ViT-L
  nn::ClipTextConfig text2;     // OpenCLIP ViT-bigG
  int64_t pooled_width = 1280;  // of the second encoder's projection
  int64_t end_token2 = 49407;   // whose state is pooled

  // The layer of the first encoder whose state counts: the eleventh, or the last but one of shorter encoders.
  int64_t text1_layers() const { return std::min<int64_t>(11, text1.layers - 1); }
  // Sinusoids of each of the six size numbers.
  int64_t size_width() const { return (unet.vector_width - pooled_width) / 6; }
};

// The published model, and a small one.
SdxlConfig full_config();
SdxlConfig tiny_config();

}  // namespace cinnabar::models::sdxl
