// Reads safetensors files with every rule of the format; any doubt is a refusal with a named reason.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::formats {

// Largest JSON header that the reference library accepts.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct SafetensorsContent {
  std::map<std::string, TensorView> tensors;  // views into the parsed bytes, not aligned
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;  // offset of the first tensor byte in the file
};

// Parses a whole file that lies in memory. Throws Error{Format}; its context() is the short name of the broken rule,
// such as "overlap" or "unknown_dtype"; `where` opens the message (a path).
SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& where);

// The bytes are mapped; tensors that do not lie at a multiple of their element size are copied, so that every view may
// be read as its type. A file that is shortened while open reads as zeros from there on, and Checkpoint::check()
// throws.
std::unique_ptr<Checkpoint> open_safetensors(const std::filesystem::path& path);

}  // namespace cinnabar::formats
