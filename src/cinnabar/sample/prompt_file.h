// Files of prompts for preview pictures, as sd-scripts reads them (no torch).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/sample/request.h"

namespace cinnabar::sample {

// What a line or a table says; what it leaves out comes from the command's defaults.
struct Prompt {
  std::string prompt{};
  std::optional<std::string> negative_prompt{};
  std::optional<int64_t> width_px{};
  std::optional<int64_t> height_px{};
  std::optional<int64_t> steps{};
  std::optional<double> scale{};
  std::optional<uint64_t> seed{};
  std::optional<std::string> sampler{};     // a known one
  std::map<size_t, double> lora_weights{};  // SampleRequest::lora_weights
};

SampleRequest request_of(const Prompt& prompt, const SampleRequest& defaults);

// Mistakes never stop anything: the setting is left out and a note says where, what was found and what was expected.
struct PromptList {
  std::vector<Prompt> prompts{};
  std::vector<std::string> notes{};
};

// .txt: a prompt a line with flags (" --n bad --w 512"), "#" in the first column starts a comment; .toml: [prompt] with
// [[prompt.subset]]; .json: a list of objects or lines. Throws Error{Io} when the file cannot be read or has more than
// 1 MiB. Beyond 10,000 prompts, and beyond 1,000 mistakes, the rest is left out.
PromptList read_prompt_file(const std::filesystem::path& path);
// The same for a text that was read; `path` gives the form and the name in notes.
PromptList read_prompts(std::string text, const std::filesystem::path& path);

inline constexpr size_t kMostPrompts = 10'000;
inline constexpr size_t kMostPromptNotes = 1'000;

// One prompt with its flags. `where` opens the notes, for example "prompts.txt:3". Nothing, with a
// note, for a line without a prompt.
std::optional<Prompt> parse_prompt_line(std::string_view line, const std::string& where,
                                        std::vector<std::string>& notes);

}  // namespace cinnabar::sample
