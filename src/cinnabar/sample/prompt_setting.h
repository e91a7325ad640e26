// The settings that a prompt may carry, as flags of a line or as keys of a table (no torch).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/sample/prompt_file.h"

namespace cinnabar::sample {

struct PromptSetting {
  std::string_view flag;  // after "--"
  std::string_view key;   // in TOML and JSON
  // Takes the text over; an unfit one leaves the prompt as it is. Returns what is wrong, or "".
  std::string (*assign)(Prompt& prompt, const std::string& text);
};

std::span<const PromptSetting> prompt_settings();
// Null when there is none. Flags are found in any case.
const PromptSetting* setting_of_flag(std::string_view flag);
const PromptSetting* setting_of_key(std::string_view key);
// "--n, --w, ..." for messages, and the keys likewise.
std::string known_flags();
std::string known_keys();

}  // namespace cinnabar::sample
