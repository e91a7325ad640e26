// A folder in the layout of the diffusers library: one sub-folder a part, each with weights and a config.json.
#pragma once

#include <filesystem>
#include <memory>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::formats {

// The tensors of all parts (unet, transformer, vae, text_encoder, text_encoder_2, text_encoder_3) under their own names
// with the part in front: "unet.conv_in.weight". side_json() holds model_index.json, each part's config.json and
// scheduler/scheduler_config.json under "model_index", the part's name and "scheduler". Of several weight files
// in a part the first of: safetensors, sharded safetensors, fp16 safetensors, then the same of .bin (restricted
// reader). Throws Error{Io} or Error{Format}.
std::unique_ptr<Checkpoint> open_diffusers_folder(const std::filesystem::path& path);

}  // namespace cinnabar::formats
