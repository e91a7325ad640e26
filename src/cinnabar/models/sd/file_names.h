// The tensors of an SD 1 checkpoint, whatever its layout, under single-file names.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/named_views.h"

namespace cinnabar::models::sd {

inline const std::string kUNetPrefix = "model.diffusion_model.";
inline const std::string kVaePrefix = "first_stage_model.";
inline const std::string kTextPrefix = "cond_stage_model.transformer.";

// Diffusers folders (names below "unet.", "vae.", "text_encoder.") are renamed, a missing "text_model." is put in, and
// names outside of the three parts are left out. What was repaired is added to `notes`.
NamedViews single_file_views(const formats::Checkpoint& checkpoint, std::vector<std::string>& notes);

// The same for a separate autoencoder: single-file names with or without "first_stage_model.", or diffusers' names.
NamedViews vae_views(const formats::Checkpoint& checkpoint);

// Tensors inside the known parts that no model uses: position_ids and the like.
bool is_ignored(const std::string& single_file_name);

}  // namespace cinnabar::models::sd
