#include "cinnabar/hardware/smi.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

std::string normal_bdf(const std::string& text) {
  const std::vector<std::string> parts = parts_of(lowered(text), ':');
  if (parts.size() < 2 || parts.size() > 3) return {};
  unsigned domain = 0;
  if (parts.size() == 3) {
    const std::string& word = parts[0];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), domain, 16);
    if (error != std::errc() || end != word.data() + word.size()) return {};
  }
  std::array<char, 16> number{};
  std::snprintf(number.data(), number.size(), "%04x:", domain);
  return number.data() + parts[parts.size() - 2] + ":" + parts.back();
}

std::string json_part(const std::string& output) {
  size_t offset = 0;
  while (offset < output.size()) {
    size_t first = output.find_first_not_of(" \t\r", offset);
    if (first != std::string::npos && (output[first] == '{' || output[first] == '[')) return output.substr(first);
    const size_t end = output.find('\n', offset);
    if (end == std::string::npos) break;
    offset = end + 1;
  }
  return {};
}

}  // namespace cinnabar::hardware
