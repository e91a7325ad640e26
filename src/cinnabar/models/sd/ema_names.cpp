#include "cinnabar/models/sd/ema_names.h"

#include <array>
#include <regex>
#include <utility>

namespace cinnabar::models::sd {

namespace {

using Rule = std::pair<std::regex, const char*>;

// The first one that fits puts the dots before and behind the numbers of the block. The number inside a block has one
// digit, so that the others belong to the block.
const std::array<Rule, 3>& block_rules() {
  static const std::array<Rule, 3> rules{
      {{std::regex(R"(^(input_blocks|output_blocks)(\d+)(\d)(\D.*)$)"), "$1.$2.$3.$4"},
       {std::regex(R"(^(middle_block|time_embed|out)(\d)(\D.*)$)"), "$1.$2.$3"},
       {std::regex(R"(^label_emb(\d)(\d)(\D.*)$)"), "label_emb.$1.$2.$3"}}};
  return rules;
}

// What stands inside a block.
const std::array<Rule, 7>& inner_rules() {
  static const std::array<Rule, 7> rules{
      {{std::regex(R"(transformer_blocks(\d+))"), "transformer_blocks.$1."},
       {std::regex(R"((in_layers|out_layers|emb_layers)(\d)(weight|bias)$)"), "$1.$2.$3"},
       {std::regex(R"((attn\d)(to_[qkv])(weight|bias)$)"), "$1.$2.$3"},
       {std::regex(R"((attn\d)to_out(\d)(weight|bias)$)"), "$1.to_out.$2.$3"},
       {std::regex(R"(ffnet0proj(weight|bias)$)"), "ff.net.0.proj.$1"},
       {std::regex(R"(ffnet2(weight|bias)$)"), "ff.net.2.$1"},
       {std::regex(R"((skip_connection|op|conv|norm\d?|proj_in|proj_out)(weight|bias)$)"), "$1.$2"}}};
  return rules;
}

}  // namespace

std::string dotted_unet_name(const std::string& name) {
  for (const auto& [pattern, replacement] : block_rules()) {
    if (!std::regex_match(name, pattern)) continue;
    std::string dotted = std::regex_replace(name, pattern, replacement);
    for (const auto& [inner, by] : inner_rules()) dotted = std::regex_replace(dotted, inner, by);
    return dotted;
  }
  return name;
}

}  // namespace cinnabar::models::sd
