// What the keys of a kohya_ss GUI JSON mean here: tables alone, the rules are in kohya_json.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::schema {

struct KohyaRename {
  std::string_view key;
  std::string_view option;
};

// Keys whose option has another name.
const std::vector<KohyaRename>& kohya_renames();

// Why a key has no meaning here, or nothing when it has one.
std::optional<std::string_view> kohya_ignored(std::string_view key);

// The network module and the arguments that a LoRA_type brings.
struct KohyaNetwork {
  std::string_view lora_type;
  std::string_view module;
  std::string_view algo;                    // LyCORIS alone
  std::vector<std::string_view> arguments;  // GUI keys that become network_args when they are set
};

// nullptr when the type is unknown.
const KohyaNetwork* kohya_network(std::string_view lora_type);
// All GUI keys that are network arguments of some type.
bool is_kohya_network_key(std::string_view key);
// The argument's name in network_args ("constrain" is called "constraint" there).
std::string_view kohya_argument_name(std::string_view key, std::string_view module);

// What the GUI shows for a key that a file does not have, where that differs from the option's own default.
struct KohyaDefault {
  std::string_view key;
  std::string_view json;
};
const std::vector<KohyaDefault>& kohya_lora_defaults();

}  // namespace cinnabar::schema
