#include "cinnabar/formats/json_text.h"

#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"

namespace cinnabar::formats {

bool is_nested_at_most(std::string_view text, size_t limit) {
  size_t depth = 0;
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      if (c == '\\') ++i;
      if (c == '"') is_in_string = false;
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > limit) return false;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return true;
}

std::string read_json_object(const std::filesystem::path& path) {
  constexpr size_t kMaxBytes = size_t{16} << 20;
  std::string text = base::read_file(path, kMaxBytes);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{' || !is_nested_at_most(text) || !nlohmann::json::accept(text)) {
    throw base::Error(
        base::ErrorCode::Format,
        path.string() + ": expected one JSON object, nested at most 64 deep; the file is damaged or is another");
  }
  return text;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cinnabar::formats
