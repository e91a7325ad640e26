#include "cinnabar/sample/prompt_file.h"

#include <algorithm>
#include <utility>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/sample/prompt_tables.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::sample {

namespace {

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr size_t kMostLineBytes = size_t{64} << 10;

PromptList read_lines(const std::string& text, const std::string& name) {
  PromptList list;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    if (line.starts_with('#') || text::strip(line).empty()) continue;
    const std::string where = name + ":" + std::to_string(number);
    if (list.prompts.size() >= kMostPrompts || list.notes.size() >= kMostPromptNotes) {
      list.notes.push_back(where + ": this line and those behind it are left out: at most " +
                           std::to_string(kMostPrompts) + " prompts and " + std::to_string(kMostPromptNotes) +
                           " mistakes are read");
      break;
    }
    if (line.size() > kMostLineBytes) {
      list.notes.push_back(where + ": the line has " + std::to_string(line.size()) + " bytes, at most " +
                           std::to_string(kMostLineBytes) + " are read; left out");
      continue;
    }
    auto prompt = parse_prompt_line(line, where, list.notes);
    if (prompt) list.prompts.push_back(std::move(*prompt));
  }
  return list;
}

}  // namespace

SampleRequest request_of(const Prompt& prompt, const SampleRequest& defaults) {
  return {.prompt = prompt.prompt,
          .negative_prompt = prompt.negative_prompt.value_or(defaults.negative_prompt),
          .width_px = prompt.width_px.value_or(defaults.width_px),
          .height_px = prompt.height_px.value_or(defaults.height_px),
          .steps = prompt.steps.value_or(defaults.steps),
          .scale = prompt.scale.value_or(defaults.scale),
          .seed = prompt.seed.value_or(defaults.seed),
          .sampler = prompt.sampler.value_or(defaults.sampler),
          .lora_weights = prompt.lora_weights};
}

PromptList read_prompt_file(const std::filesystem::path& path) {
  return read_prompts(base::read_file(path, kMostBytes), path);
}

PromptList read_prompts(std::string text, const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::vector<std::string> notes;
  if (const auto offset = text::find_invalid_utf8(text)) {
    notes.push_back(name + ": byte " + std::to_string(*offset) +
                    " is not UTF-8; such characters are replaced, so save the file as UTF-8");
    text = text::encode_utf8(text::decode_utf8(text));
  }
  const std::string extension = path.extension().string();
  PromptList list = extension == ".toml"   ? read_toml_prompts(text, name)
                    : extension == ".json" ? read_json_prompts(text, name)
                                           : read_lines(text, name);
  if (extension != ".txt" && extension != ".toml" && extension != ".json")
    notes.push_back(name + ": read as a text file; other formats are .toml and .json");
  if (list.prompts.empty()) notes.push_back(name + ": there is no prompt in it");
  notes.insert(notes.end(), list.notes.begin(), list.notes.end());
  list.notes = std::move(notes);
  return list;
}

}  // namespace cinnabar::sample
