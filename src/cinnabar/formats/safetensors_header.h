// The JSON header of a safetensors file as typed rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/formats/dtype.h"

namespace cinnabar::formats {

// Offsets count from the first byte behind the header; they are not checked here.
struct HeaderEntry {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;
};

// `json` is the object without padding. Throws Error{Format} whose context() names the broken rule.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& where);

// A name from a file for use in a message: quoted, shortened to 120 bytes, control characters and what is no UTF-8
// replaced.
std::string quote_name(std::string_view name);

}  // namespace cinnabar::formats
