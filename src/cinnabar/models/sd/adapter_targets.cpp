#include "cinnabar/models/sd/adapter_targets.h"

#include <algorithm>

#include "cinnabar/models/sd/block_names.h"

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

void add_text_targets(std::vector<AdapterTarget>& targets, nn::ClipText& text, const std::string& prefix,
                      const std::string& part) {
  // All linear layers of the encoder stand in its attention and feed-forward parts, which are what is wrapped.
  text.each_layer("", [&](const std::string& name, nn::Layer& layer) {
    targets.push_back({.name = adapter_name(prefix, name), .part = part, .layer = &layer});
  });
}

void add_unet_targets(std::vector<AdapterTarget>& targets, nn::UNet& unet, UNetNames naming) {
  const BlockNames names = BlockNames::of_unet(layout_of(unet.config()));
  unet.each_layer("", [&](const std::string& name, nn::Layer& layer) {
    const BlockName* block = names.block_of(name);
    if (block == nullptr || block->kind == BlockKind::Plain) return;
    const std::string diffusers = adapter_name("lora_unet", names.to_diffusers(name).value_or(name));
    AdapterTarget target{
        .name = diffusers, .part = "unet", .layer = &layer, .is_extended = block->kind != BlockKind::UNetTransformer};
    if (naming == UNetNames::SingleFile) {
      target.name = adapter_name("lora_unet", name);
      target.diffusers_name = diffusers;
    }
    targets.push_back(std::move(target));
  });
}

void sort_by_name(std::vector<AdapterTarget>& targets) {
  std::sort(targets.begin(), targets.end(),
            [](const AdapterTarget& a, const AdapterTarget& b) { return a.name < b.name; });
}

}  // namespace cinnabar::models::sd
