#include <algorithm>

#include "cinnabar/models/sd/block_names.h"
#include "cinnabar/models/sd/sd_model.h"

namespace cinnabar::models::sd {

namespace {

std::string adapter_name(const std::string& prefix, std::string path) {
  std::replace(path.begin(), path.end(), '.', '_');
  return prefix + "_" + path;
}

UNetLayout layout_of(const nn::UNetConfig& config) {
  UNetLayout layout;
  for (const nn::UNetLevel& level : config.levels) {
    layout.res_blocks.push_back(level.res_blocks);
    layout.has_attention.push_back(level.depth > 0);
  }
  return layout;
}

}  // namespace

std::vector<AdapterTarget> sd_adapter_targets(nn::ClipText* text, nn::UNet* unet) {
  std::vector<AdapterTarget> targets;
  if (text != nullptr) {
    // All linear layers of the encoder stand in its attention and feed-forward parts, which are what is wrapped.
    text->each_layer("", [&](const std::string& name, nn::Layer& layer) {
      targets.push_back({.name = adapter_name("lora_te", name), .part = "text_encoder", .layer = &layer});
    });
  }
  if (unet != nullptr) {
    const BlockNames names = BlockNames::of_unet(layout_of(unet->config()));
    unet->each_layer("", [&](const std::string& name, nn::Layer& layer) {
      const BlockName* block = names.block_of(name);
      if (block == nullptr || block->kind == BlockKind::Plain) return;
      targets.push_back({.name = adapter_name("lora_unet", names.to_diffusers(name).value_or(name)),
                         .part = "unet",
                         .layer = &layer,
                         .is_extended = block->kind != BlockKind::UNetTransformer});
    });
  }
  std::sort(targets.begin(), targets.end(),
            [](const AdapterTarget& a, const AdapterTarget& b) { return a.name < b.name; });
  return targets;
}

}  // namespace cinnabar::models::sd
