// Writes safetensors files as the reference library orders them: by descending dtype width, then by name.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::formats {

struct NamedTensor {
  std::string name;
  TensorView view;
};

// Atomic. Throws Error{Io} or Error{OutOfSpace}.
void write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace cinnabar::formats
