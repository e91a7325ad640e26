// open_clip's names of a CLIP text encoder (transformer.resblocks.N.attn.in_proj_weight, ...) and transformers' names,
// which our modules have (text_model.encoder.layers.N.self_attn.q_proj.weight, ...).
#pragma once

#include <string>
#include <vector>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/models/named_views.h"

namespace cinnabar::models::sd {

// Names without prefixes. Query, key and value are cut out of in_proj; layers from `layers` on, logit_scale and
// attn_mask are left out, as are text_projection and text_projection.weight; other unknown names stay as they are.
NamedViews from_open_clip(const NamedViews& views, int64_t layers);

// The tensors of our modules that one tensor of a file is made of, joined along dimension 0: three for in_proj, else
// one. Names without prefixes.
std::vector<std::string> module_names(const std::string& open_clip_name);

// The tensors below `prefix` renamed, and query, key and value joined.
void to_open_clip(NamedTensors& tensors, const std::string& prefix);
// What SD 2 files have and no program of ours uses: a copy of the last layer behind it, a projection of ones, and a
// logit_scale of 1, as the reference writes them where it has no file to take them from.
void add_unused_layer(NamedTensors& tensors, const std::string& prefix);

}  // namespace cinnabar::models::sd
