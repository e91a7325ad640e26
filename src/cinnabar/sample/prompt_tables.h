// Prompts as tables: the .toml and .json forms of prompt files (no torch).
#pragma once

#include <string>

#include "cinnabar/sample/prompt_file.h"

namespace cinnabar::sample {

// `name` of the file opens the notes. A file that cannot be parsed gives no prompts and one note.
PromptList read_toml_prompts(const std::string& text, const std::string& name);
PromptList read_json_prompts(const std::string& text, const std::string& name);

}  // namespace cinnabar::sample
