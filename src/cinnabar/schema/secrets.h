// Tokens and keys of services stand in configurations and must not reach messages, reports and records.
#pragma once

#include <string>
#include <string_view>

namespace cinnabar::schema {

inline constexpr std::string_view kHidden = "[hidden]";

// Whether an option of this name holds a secret: names that end in "token" or hold "api_key", in any case and with
// hyphens or underscores ("huggingface_token", "wandb_api_key").
bool is_secret_option(const std::string& name);
// A text with the values of such names hidden: "--huggingface_token X", "wandb_api_key=X", "\"hf_token\": \"X\"".
std::string without_secrets(const std::string& text);

}  // namespace cinnabar::schema
