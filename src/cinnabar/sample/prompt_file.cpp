#include "cinnabar/sample/prompt_file.h"

#include <algorithm>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/sample/prompt_setting.h"
#include "cinnabar/sample/prompt_tables.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::sample {

namespace {

constexpr size_t kMostBytes = size_t{16} << 20;

PromptList read_lines(const std::string& text, const std::string& name) {
  PromptList list;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    if (line.starts_with('#') || text::strip(line).empty()) continue;
    list.prompts.push_back(parse_prompt_line(line, name + ":" + std::to_string(number), list.notes));
  }
  return list;
}

// The segments between " --", as the reference splits a line. One that starts with "--" has no prompt.
std::vector<std::string_view> split_flags(std::string_view line) {
  std::vector<std::string_view> segments;
  if (line.starts_with("--")) {
    segments.push_back(line.substr(0, 0));
    line.remove_prefix(2);
  }
  for (;;) {
    const size_t at = line.find(" --");
    segments.push_back(line.substr(0, at));
    if (at == std::string_view::npos) return segments;
    line.remove_prefix(at + 3);
  }
}

void apply_flag(Prompt& prompt, std::string_view segment, const std::string& where, std::vector<std::string>& notes) {
  const size_t space = segment.find_first_of(" \t");
  const std::string_view flag = segment.substr(0, space);
  const PromptSetting* setting = setting_of_flag(flag);
  const std::string shown = where + ": --" + std::string(segment) + ": ";
  if (setting == nullptr) {
    notes.push_back(shown + "no such flag, left out; known are " + known_flags());
  } else if (space == std::string_view::npos) {
    notes.push_back(shown + "the flag has no value; left out");
  } else {
    const std::string wrong = setting->assign(prompt, std::string(segment.substr(space + 1)));
    if (!wrong.empty()) notes.push_back(shown + wrong);
  }
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
          .sampler = prompt.sampler.value_or(defaults.sampler)};
}

Prompt parse_prompt_line(std::string_view line, const std::string& where, std::vector<std::string>& notes) {
  const std::vector<std::string_view> segments = split_flags(text::strip(line));
  Prompt prompt{.prompt = std::string(text::strip(segments.front()))};
  if (prompt.prompt.empty())
    notes.push_back(where + ": there is no prompt before the flags; the picture is of nothing");
  for (size_t i = 1; i < segments.size(); ++i) apply_flag(prompt, segments[i], where, notes);
  return prompt;
}

PromptList read_prompt_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  std::string text = base::read_file(path, kMostBytes);
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
