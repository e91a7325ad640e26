// Averaged weights of a U-Net as training checkpoints hold them: names without dots ("input_blocks10in_layers0weight").
#pragma once

#include <string>

namespace cinnabar::models::sd {

inline const std::string kEmaPrefix = "model_ema.diffusion_model";

// "input_blocks10in_layers0weight" -> "input_blocks.1.0.in_layers.0.weight". Names that are none of a U-Net's come back
// as they are.
std::string dotted_unet_name(const std::string& name);

}  // namespace cinnabar::models::sd
