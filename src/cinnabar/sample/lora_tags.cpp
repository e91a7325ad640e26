#include "cinnabar/sample/lora_tags.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string_view>

#include "cinnabar/schema/value_text.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::sample {

namespace {

constexpr std::array<std::string_view, 3> kKinds = {"lora", "lyco", "hypernet"};

// The kind of the tag that begins at `at`, or "".
std::string_view kind_at(const std::string& text, size_t at) {
  for (const std::string_view kind : kKinds) {
    const bool is_here = text.compare(at + 1, kind.size(), kind) == 0 && at + 1 + kind.size() < text.size() &&
                         text[at + 1 + kind.size()] == ':';
    if (is_here) return kind;
  }
  return {};
}

LoraTag tag_of(const std::string& text, std::string_view kind) {
  LoraTag tag{.text = text, .kind = std::string(kind), .name = {}};
  std::string rest = text.substr(kind.size() + 2, text.size() - kind.size() - 3);
  const size_t colon = rest.find(':');
  tag.name = std::string(text::strip(std::string_view(rest).substr(0, colon)));
  if (colon == std::string::npos) return tag;
  rest.erase(0, colon + 1);
  tag.weight = schema::parse_number(text::strip(std::string_view(rest).substr(0, rest.find(':'))));
  if (!tag.weight || rest.find(':') != std::string::npos) tag.odd = rest;
  return tag;
}

void say_once(const std::string& note, std::vector<std::string>& notes) {
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

using Use = std::function<void(Prompt&, const LoraTag&)>;

void each_tag(std::vector<Prompt>& prompts, std::vector<std::string>& notes, const Use& use) {
  for (Prompt& prompt : prompts) {
    for (const LoraTag& tag : take_lora_tags(prompt.prompt)) use(prompt, tag);
    if (!prompt.negative_prompt) continue;
    for (const LoraTag& tag : take_lora_tags(*prompt.negative_prompt)) {
      say_once(tag.text + " in a negative prompt has no effect and is left out", notes);
    }
  }
}

}  // namespace

std::vector<LoraTag> take_lora_tags(std::string& text) {
  std::vector<LoraTag> tags;
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    const std::string_view kind = kind_at(text, at);
    const size_t end = kind.empty() ? std::string::npos : text.find('>', at);
    if (end == std::string::npos) {
      ++at;
      continue;
    }
    tags.push_back(tag_of(text.substr(at, end - at + 1), kind));
    const bool is_blank_before = at == 0 || text[at - 1] == ' ';
    const bool is_blank_behind = end + 1 == text.size() || text[end + 1] == ' ';
    text.erase(at, end - at + 1);
    if (!is_blank_before || !is_blank_behind) continue;
    if (at < text.size()) {
      text.erase(at, 1);
    } else if (at > 0) {
      text.erase(--at, 1);
    }
  }
  return tags;
}

void apply_lora_tags(std::vector<Prompt>& prompts, const std::vector<std::string>& names,
                     std::vector<std::string>& notes) {
  each_tag(prompts, notes, [&](Prompt& prompt, const LoraTag& tag) {
    if (tag.kind == "hypernet") return say_once(tag.text + ": hypernetworks are not supported; left out", notes);
    std::vector<size_t> places;
    for (size_t i = 0; i < names.size(); ++i) {
      if (tag.name == names[i] || std::filesystem::path(tag.name).stem() == names[i]) places.push_back(i);
    }
    if (places.empty()) {
      return say_once(tag.text + " is left out: no file of --lora has the name " + tag.name +
                          ". Give it with its path: --lora " + tag.name + ".safetensors",
                      notes);
    }
    if (!tag.odd.empty()) {
      say_once(tag.text + ": \"" + tag.odd + "\" is not one number; " +
                   (tag.weight ? "the first one counts for all parts of the model" : "1 is taken") +
                   "; expected <lora:" + tag.name + ":0.8>",
               notes);
    }
    for (const size_t place : places) prompt.lora_weights[place] = tag.weight.value_or(1.0);
  });
}

void drop_lora_tags(std::vector<Prompt>& prompts, std::vector<std::string>& notes) {
  each_tag(prompts, notes, [&](Prompt&, const LoraTag& tag) {
    say_once(tag.text + " is left out: pictures of a training show the network under training and no other", notes);
  });
}

}  // namespace cinnabar::sample
