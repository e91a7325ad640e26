#include "cinnabar/adapters/registry.h"

namespace cinnabar::adapters {

base::Registry<AdapterDescription>& adapter_descriptions() {
  static base::Registry<AdapterDescription> registry("network_module");
  return registry;
}

std::vector<schema::Option> lora_plus_options() {
  const schema::Option row{
      .name = "loraplus_lr_ratio",
      .type = schema::Type::Float,
      .range = schema::Range{0, 1000},
      .typical = schema::Range{4, 16},
      .group = "Method",
      .level = schema::Level::Expert,
      .label = "LoRA+ ratio",
      .help = "Learning rate of the up matrices over that of the down matrices. 0 means the same rate."};
  schema::Option unet = row;
  unet.name = "loraplus_unet_lr_ratio";
  unet.label = "LoRA+ ratio, U-Net";
  unet.help = "The same for the U-Net alone; wins over loraplus_lr_ratio.";
  schema::Option text = row;
  text.name = "loraplus_text_encoder_lr_ratio";
  text.label = "LoRA+ ratio, text encoder";
  text.help = "The same for the text encoder alone; wins over loraplus_lr_ratio.";
  return {row, unet, text};
}

bool register_adapter(std::initializer_list<std::string> names, const AdapterDescription& description) {
  for (const std::string& name : names) adapter_descriptions().add(name, description);
  return true;
}

}  // namespace cinnabar::adapters
