// What each kind of adapter is, for command line, forms and docs (no torch). The code of a kind is found through
// layer_adapter.h.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/option.h"

namespace cinnabar::adapters {

struct AdapterDescription {
  std::string help;
  // Beyond the options that all kinds share (network_dim, network_alpha, network_dropout). In kohya's files they stand
  // in network_args as key=value.
  std::vector<schema::Option> options;
};

base::Registry<AdapterDescription>& adapter_descriptions();

// loraplus_lr_ratio and its forms for one part, for the kinds that have up and down matrices (LoRA+, Hayou et al.
// 2024).
std::vector<schema::Option> lora_plus_options();

// One kind under all names of network_module that mean it. Returns true, so that it can initialise a constant.
bool register_adapter(std::initializer_list<std::string> names, const AdapterDescription& description);

}  // namespace cinnabar::adapters

// CINNABAR_REGISTER_ADAPTER(lora, {"networks.lora", "lora"}, description)
#define CINNABAR_REGISTER_ADAPTER(identifier, ...) \
  static const bool registered_adapter_##identifier = ::cinnabar::adapters::register_adapter(__VA_ARGS__)
