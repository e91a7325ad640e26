// A word of the option `lora` of the command sample: FILE or FILE:WEIGHT.
#pragma once

#include <filesystem>
#include <string>

namespace cinnabar::schema {

struct LoraWord {
  std::filesystem::path path;
  double weight = 1.0;
};

// What follows the last colon is the weight when it is a number and no file has the whole word as its name.
LoraWord parse_lora_word(const std::string& word);

// Why there is no such LoRA, and what to write in its place; "" when the file is there.
std::string lora_word_problem(const LoraWord& word);

}  // namespace cinnabar::schema
