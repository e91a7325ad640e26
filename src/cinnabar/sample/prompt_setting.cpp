#include "cinnabar/sample/prompt_setting.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "cinnabar/base/text_match.h"
#include "cinnabar/samplers/entry.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::sample {

namespace {

constexpr int64_t kLargestSide = 8192;
constexpr int64_t kMostSteps = 1000;
constexpr double kLargestScale = 100.0;

std::string left_out(const std::string& expected) { return "expected " + expected + "; left out"; }

// A whole number in front; what follows it is told. Nothing else is taken.
template <class Number>
std::optional<Number> leading_number(const std::string& text, std::string& rest) {
  const std::string_view trimmed = text::strip(text);
  Number value{};
  const char* end = trimmed.data() + trimmed.size();
  const auto [read, error] = std::from_chars(trimmed.data(), end, value);
  if (error != std::errc{}) return std::nullopt;
  rest = std::string(read, end);
  return value;
}

std::string about_rest(const std::string& rest) {
  return rest.empty() ? "" : "\"" + rest + "\" after the number is left out";
}

// "7,5" would be read as 7.
std::string about_comma(const std::string& text) {
  const std::string_view trimmed = text::strip(text);
  const size_t comma = trimmed.find(',');
  if (comma == std::string_view::npos || comma == 0 || comma + 1 == trimmed.size()) return "";
  std::string pointed(trimmed);
  pointed[comma] = '.';
  const bool is_number = pointed.find_first_not_of("0123456789.") == std::string::npos;
  return is_number ? left_out("a point in numbers, " + pointed) : "";
}

std::string assign_side(std::optional<int64_t>& target, const std::string& text) {
  std::string rest;
  const auto value = leading_number<int64_t>(text, rest);
  if (!value || *value < 1 || *value > kLargestSide)
    return left_out("a size in pixels from 64 to " + std::to_string(kLargestSide));
  target = std::max(kSmallestSide, *value / kSideStep * kSideStep);
  if (*target == *value) return about_rest(rest);
  return *target > *value ? "taken as 64, the smallest size"
                          : "rounded down to " + std::to_string(*target) + ", a multiple of 8";
}

std::string assign_negative(Prompt& prompt, const std::string& text) {
  prompt.negative_prompt = std::string(text::strip(text));
  return "";
}

std::string assign_width(Prompt& prompt, const std::string& text) { return assign_side(prompt.width_px, text); }
std::string assign_height(Prompt& prompt, const std::string& text) { return assign_side(prompt.height_px, text); }

std::string assign_steps(Prompt& prompt, const std::string& text) {
  std::string rest;
  const auto value = leading_number<int64_t>(text, rest);
  if (!value) return left_out("a number of steps from 1 to " + std::to_string(kMostSteps));
  prompt.steps = std::clamp<int64_t>(*value, 1, kMostSteps);
  if (*prompt.steps != *value) return "taken as " + std::to_string(*prompt.steps);
  return about_rest(rest);
}

std::string assign_scale(Prompt& prompt, const std::string& text) {
  const std::string comma = about_comma(text);
  if (!comma.empty()) return comma;
  std::string rest;
  const auto value = leading_number<double>(text, rest);
  if (!value || !std::isfinite(*value) || *value < 0.0 || *value > kLargestScale)
    return left_out("a guidance scale from 0 to 100, for example 7.5");
  prompt.scale = *value;
  return about_rest(rest);
}

std::string assign_seed(Prompt& prompt, const std::string& text) {
  // Other programs' word for a random one.
  if (text::strip(text) == "-1") return "no seed; the prompt takes the seed that a prompt without one has";
  std::string rest;
  const auto value = leading_number<uint64_t>(text, rest);
  if (!value) return left_out("a whole number of 0 or more");
  prompt.seed = *value;
  return about_rest(rest);
}

std::string assign_sampler(Prompt& prompt, const std::string& text) {
  std::string name(text::strip(text));
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const std::string& known : samplers::entries().names()) {
    std::string label = samplers::entries().at(known).label;  // as other programs write it: "DPM++ 2M"
    for (char& c : label) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (known != name && (label != name || !samplers::entries().at(known).alias_of.empty())) continue;
    prompt.sampler = known;
    return "";
  }
  const std::vector<std::string> names = samplers::entries().names();
  const std::string near = base::nearest_name(name, names);
  // The reference falls back to ddim, too, without a word.
  prompt.sampler = "ddim";
  return "no such sampler, ddim is taken" + (near.empty() ? std::string() : "; did you mean \"" + near + "\"?");
}

std::string refuse(Prompt&, const std::string&) { return "this has no effect on models of this kind; left out"; }

// sd-scripts 48d368fa, library/train_util.py (line_to_prompt_dict) and load_prompts.
constexpr std::array kSettings{
    PromptSetting{"n", "negative_prompt", assign_negative},
    PromptSetting{"w", "width", assign_width},
    PromptSetting{"h", "height", assign_height},
    PromptSetting{"d", "seed", assign_seed},
    PromptSetting{"s", "sample_steps", assign_steps},
    PromptSetting{"l", "scale", assign_scale},
    PromptSetting{"ss", "sample_sampler", assign_sampler},
    PromptSetting{"g", "guidance_scale", refuse},
    PromptSetting{"cn", "controlnet_image", refuse},
    PromptSetting{"ctr", "cfg_trunc_ratio", refuse},
    PromptSetting{"rcfg", "renorm_cfg", refuse},
    PromptSetting{"fs", "flow_shift", refuse},
};

bool is_same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::span<const PromptSetting> prompt_settings() { return kSettings; }

const PromptSetting* setting_of_flag(std::string_view flag) {
  for (const PromptSetting& setting : kSettings) {
    if (is_same_word(setting.flag, flag)) return &setting;
  }
  return nullptr;
}

const PromptSetting* setting_of_key(std::string_view key) {
  for (const PromptSetting& setting : kSettings) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

std::string known_flags() {
  std::string text;
  for (const PromptSetting& setting : kSettings) text += (text.empty() ? "--" : ", --") + std::string(setting.flag);
  return text;
}

std::string known_keys() {
  std::string text = "prompt";
  for (const PromptSetting& setting : kSettings) text += ", " + std::string(setting.key);
  return text;
}

}  // namespace cinnabar::sample
