#include "cinnabar/models/sd/file_names.h"

#include <algorithm>

#include "cinnabar/models/sd/block_names.h"
#include "cinnabar/models/sd/ema_names.h"

namespace cinnabar::models::sd {

namespace {

NamedViews renamed(const NamedViews& diffusers, const BlockNames& names) {
  NamedViews views;
  for (const auto& [name, view] : diffusers) views.emplace(names.to_single_file(name).value_or(name), view);
  return views;
}

UNetLayout layout_of_diffusers(const NamedViews& views) {
  UNetLayout layout;
  for (int64_t i = 0, levels = count_indices(views, "down_blocks."); i < levels; ++i) {
    const std::string block = "down_blocks." + std::to_string(i);
    layout.res_blocks.push_back(count_indices(views, block + ".resnets."));
    layout.has_attention.push_back(has_prefix(views, block + ".attentions."));
  }
  return layout;
}

NamedViews vae_from_diffusers(const NamedViews& views) {
  const int64_t levels = count_indices(views, "encoder.down_blocks.");
  int64_t blocks = 0;
  for (int64_t i = 0; i < levels; ++i) {
    blocks = std::max(blocks, count_indices(views, "encoder.down_blocks." + std::to_string(i) + ".resnets."));
    blocks = std::max(blocks, count_indices(views, "decoder.up_blocks." + std::to_string(i) + ".resnets."));
  }
  return renamed(views, BlockNames::of_vae(levels, blocks));
}

}  // namespace

NamedViews picture_views(const formats::Checkpoint& checkpoint, std::vector<std::string>& notes) {
  NamedViews all;
  if (is_diffusers(checkpoint)) {
    const NamedViews unet = views_below(checkpoint, "unet.");
    add_views(all, kUNetPrefix, renamed(unet, BlockNames::of_unet(layout_of_diffusers(unet))));
    add_views(all, kVaePrefix, vae_from_diffusers(views_below(checkpoint, "vae.")));
    return all;
  }
  if (checkpoint.has_prefix(kUNetPrefix)) {
    add_views(all, kUNetPrefix, views_below(checkpoint, kUNetPrefix));
  } else {
    for (const auto& [name, view] : views_below(checkpoint, kEmaPrefix)) {
      all.emplace(kUNetPrefix + dotted_unet_name(name), view);
    }
    if (!all.empty()) notes.push_back("the file has averaged weights (model_ema) of the U-Net alone; these are used");
  }
  add_views(all, kVaePrefix, views_below(checkpoint, kVaePrefix));
  return all;
}

NamedViews text_views(const formats::Checkpoint& checkpoint, const std::string& prefix,
                      std::vector<std::string>& notes) {
  NamedViews result;
  bool is_repaired = false;
  for (const auto& [name, view] : views_below(checkpoint, prefix)) {
    const bool is_bare =
        name.starts_with("embeddings.") || name.starts_with("encoder.") || name.starts_with("final_layer_norm.");
    is_repaired = is_repaired || is_bare;
    result.emplace(is_bare ? "text_model." + name : name, view);
  }
  if (is_repaired) notes.push_back("the text encoder's names lack \"text_model.\"; read as if it were there");
  return result;
}

NamedViews vae_views(const formats::Checkpoint& checkpoint) {
  NamedViews views;
  for (const std::string& prefix : {kVaePrefix, std::string("vae."), std::string()}) {
    if (!checkpoint.has_prefix(prefix + "decoder.")) continue;
    views = views_below(checkpoint, prefix);
    break;
  }
  if (has_prefix(views, "encoder.down_blocks.")) views = vae_from_diffusers(views);
  NamedViews all;
  for (const auto& [name, view] : views) {
    if (name.starts_with("encoder.") || name.starts_with("decoder.") || name.starts_with("quant_conv.") ||
        name.starts_with("post_quant_conv.")) {
      all.emplace(kVaePrefix + name, view);
    }
  }
  return all;
}

bool has_unet(const formats::Checkpoint& checkpoint) {
  return checkpoint.has_prefix(kUNetPrefix) || checkpoint.has_prefix(kEmaPrefix);
}

bool is_diffusers(const formats::Checkpoint& checkpoint) { return checkpoint.has_prefix("unet."); }

bool has_convolution_projection(const formats::Checkpoint& checkpoint) {
  for (const auto& [name, view] : checkpoint.tensors()) {
    if (name.starts_with("unet.") && name.ends_with(".proj_in.weight")) return view.shape.size() == 4;
  }
  return false;
}

bool is_ignored(const std::string& name) {
  return name.ends_with("text_model.embeddings.position_ids") ||
         // Of the whole CLIP model; programs that save checkpoints again write them along.
         name.ends_with(".transformer.text_projection.weight") || name.ends_with(".transformer.logit_scale") ||
         // Left by the training of the autoencoder.
         name.starts_with(kVaePrefix + "loss.") || name.starts_with(kVaePrefix + "model_ema.");
}

}  // namespace cinnabar::models::sd
