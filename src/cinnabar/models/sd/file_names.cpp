#include "cinnabar/models/sd/file_names.h"

#include <algorithm>

#include "cinnabar/models/sd/block_names.h"

namespace cinnabar::models::sd {

namespace {

// Tensors of `checkpoint` below `prefix`, with the prefix removed.
NamedViews below(const formats::Checkpoint& checkpoint, const std::string& prefix) {
  NamedViews views;
  const auto& tensors = checkpoint.tensors();
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it) {
    views.emplace(it->first.substr(prefix.size()), &it->second);
  }
  return views;
}

void add_below(NamedViews& all, const std::string& prefix, const NamedViews& views) {
  for (const auto& [name, view] : views) all.emplace(prefix + name, view);
}

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

// Some files lack "text_model." behind "transformer.".
NamedViews repaired_text(const NamedViews& views, std::vector<std::string>& notes) {
  NamedViews result;
  bool is_repaired = false;
  for (const auto& [name, view] : views) {
    const bool is_bare =
        name.starts_with("embeddings.") || name.starts_with("encoder.") || name.starts_with("final_layer_norm.");
    is_repaired = is_repaired || is_bare;
    result.emplace(is_bare ? "text_model." + name : name, view);
  }
  if (is_repaired) notes.push_back("the text encoder's names lack \"text_model.\"; read as if it were there");
  return result;
}

}  // namespace

NamedViews single_file_views(const formats::Checkpoint& checkpoint, std::vector<std::string>& notes) {
  NamedViews all;
  if (checkpoint.has_prefix("unet.")) {
    const NamedViews unet = below(checkpoint, "unet.");
    add_below(all, kUNetPrefix, renamed(unet, BlockNames::of_unet(layout_of_diffusers(unet))));
    add_below(all, kVaePrefix, vae_from_diffusers(below(checkpoint, "vae.")));
    add_below(all, kTextPrefix, repaired_text(below(checkpoint, "text_encoder."), notes));
    return all;
  }
  add_below(all, kUNetPrefix, below(checkpoint, kUNetPrefix));
  add_below(all, kVaePrefix, below(checkpoint, kVaePrefix));
  add_below(all, kTextPrefix, repaired_text(below(checkpoint, kTextPrefix), notes));
  return all;
}

NamedViews vae_views(const formats::Checkpoint& checkpoint) {
  NamedViews views;
  for (const std::string& prefix : {kVaePrefix, std::string("vae."), std::string()}) {
    if (!checkpoint.has_prefix(prefix + "decoder.")) continue;
    views = below(checkpoint, prefix);
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

bool is_ignored(const std::string& name) {
  return name == kTextPrefix + "text_model.embeddings.position_ids" ||
         // Of the whole CLIP model; programs that save checkpoints again write them along.
         name == kTextPrefix + "text_projection.weight" || name == kTextPrefix + "logit_scale" ||
         // Left by the training of the autoencoder.
         name.starts_with(kVaePrefix + "loss.") || name.starts_with(kVaePrefix + "model_ema.");
}

}  // namespace cinnabar::models::sd
