// Which layer and tensor a key of an adapter file means: kohya's flat names, and the dotted ones of PEFT and diffusers.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cinnabar::adapters {

struct AdapterKey {
  std::string name;       // full adapter name, one of the known ones
  std::string suffix;     // kohya's: "lora_down.weight"
  std::string component;  // of dotted keys: "unet", "text_encoder"; else empty
  std::string path;       // of dotted keys: "down_blocks.0.attentions.0.proj_in"
};

// Nothing when the key fits none of `names`. lora_A and lora_B become lora_down and lora_up.
std::optional<AdapterKey> recognise_key(std::string_view key, const std::set<std::string>& names);

// The alpha of a dotted key's layer, from diffusers' "lora_adapter_metadata" (a JSON text); nothing when it says
// nothing. `rank` is that of the layer. Throws Error{Format} for text that is not the expected JSON.
std::optional<double> alpha_from_metadata(const std::map<std::string, std::string>& metadata, const AdapterKey& key,
                                          double rank);

}  // namespace cinnabar::adapters
