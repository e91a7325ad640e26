// The tensors of checkpoints of the Stable Diffusion families, whatever their layout, under the names that our modules
// use: those of single files, and transformers' names for text encoders.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/named_views.h"

namespace cinnabar::models::sd {

inline const std::string kUNetPrefix = "model.diffusion_model.";
inline const std::string kVaePrefix = "first_stage_model.";
inline const std::string kTextPrefix = "cond_stage_model.transformer.";

// U-Net and autoencoder with their single-file prefixes, out of a single file or out of the sub-folders "unet" and
// "vae" of a diffusers folder. Averaged weights take the place of a U-Net that is missing, which is added to `notes`.
NamedViews picture_views(const formats::Checkpoint& checkpoint, std::vector<std::string>& notes);

// A text encoder with transformers' names below `prefix` of the checkpoint, without that prefix. A missing
// "text_model." is put in, which is added to `notes`.
NamedViews text_views(const formats::Checkpoint& checkpoint, const std::string& prefix,
                      std::vector<std::string>& notes);

// A separate autoencoder: single-file names with or without "first_stage_model.", or diffusers' names.
NamedViews vae_views(const formats::Checkpoint& checkpoint);

// Whether a single file has a U-Net, be it as averaged weights alone.
bool has_unet(const formats::Checkpoint& checkpoint);
// Whether the checkpoint is a diffusers folder with a U-Net.
bool is_diffusers(const formats::Checkpoint& checkpoint);
// In diffusers folders SD 1 and the later families differ in the projections of the transformers: 1x1 convolutions or
// matrices.
bool has_convolution_projection(const formats::Checkpoint& checkpoint);

// Tensors inside the known parts that no model uses: position_ids and the like.
bool is_ignored(const std::string& name);

}  // namespace cinnabar::models::sd
