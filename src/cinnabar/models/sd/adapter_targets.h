// The layers of text encoders and U-Nets that adapters attach to, under kohya's names.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/nn/clip_text.h"
#include "cinnabar/nn/unet.h"

namespace cinnabar::models::sd {

// Module paths in the names of the U-Net's layers: diffusers' for SD 1 and 2, those of single files for SDXL.
enum class UNetNames { Diffusers, SingleFile };

void add_text_targets(std::vector<AdapterTarget>& targets, nn::ClipText& text, const std::string& prefix,
                      const std::string& part);
void add_unet_targets(std::vector<AdapterTarget>& targets, nn::UNet& unet, UNetNames naming);
// The order of adapter files.
void sort_by_name(std::vector<AdapterTarget>& targets);

}  // namespace cinnabar::models::sd
