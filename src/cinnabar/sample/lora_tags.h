// "<lora:NAME:WEIGHT>" in prompts, as AUTOMATIC1111's web UI writes them: the weight of a LoRA for one prompt (no
// torch).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/sample/prompt_file.h"

namespace cinnabar::sample {

struct LoraTag {
  std::string text;  // "<lora:dog:0.8>"
  std::string kind;  // lora, lyco or hypernet
  std::string name;
  std::optional<double> weight{};  // none: not given, and 1 is meant
  std::string odd{};               // a weight that is no number, or what stands behind it
};

// Takes the tags out of the text, each with one of the blanks around it.
std::vector<LoraTag> take_lora_tags(std::string& text);

// Takes the tags out of all prompts and sets Prompt::lora_weights for those whose name is one of `names` (file names
// without their last extension, in the order of the files). What is left out is told, each thing once.
void apply_lora_tags(std::vector<Prompt>& prompts, const std::vector<std::string>& names,
                     std::vector<std::string>& notes);

// The same where no LoRA file can be given: pictures of a training show the network under training.
void drop_lora_tags(std::vector<Prompt>& prompts, std::vector<std::string>& notes);

}  // namespace cinnabar::sample
