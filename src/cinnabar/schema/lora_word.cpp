#include "cinnabar/schema/lora_word.h"

#include "cinnabar/base/path_kind.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace fs = std::filesystem;

LoraWord parse_lora_word(const std::string& word) {
  const size_t colon = word.rfind(':');
  std::error_code error;
  if (colon == std::string::npos || fs::exists(word, error)) return {.path = word};
  const std::optional<double> weight = parse_number(word.substr(colon + 1));
  if (!weight) return {.path = word};
  return {.path = word.substr(0, colon), .weight = *weight};
}

std::string lora_word_problem(const LoraWord& word) {
  const std::string text = word.path.string();
  std::error_code error;
  if (fs::exists(word.path, error)) return fs::is_directory(word.path, error) ? "" : base::why_no_file(word.path);
  const size_t colon = text.rfind(':');
  if (colon != std::string::npos && fs::exists(text.substr(0, colon), error)) {
    return "the weight after the colon is \"" + text.substr(colon + 1) + "\"; expected a number, as in " +
           text.substr(0, colon) + ":0.8";
  }
  return "no such file; check the path of the LoRA";
}

}  // namespace cinnabar::schema
