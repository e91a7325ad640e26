#include "cinnabar/schema/extension_rule.h"

#include <algorithm>

namespace cinnabar::schema {

std::string extension_problem(std::string_view extension) {
  const std::string_view letters = extension.substr(extension.starts_with('.') ? 1 : 0);
  // Patterns and paths would name no file, or one elsewhere.
  const auto is_odd = [](char c) {
    return (c >= 0 && c < ' ') || c == 0x7F || std::string_view("/\\*?").find(c) != std::string_view::npos;
  };
  const bool is_fine = !letters.empty() && !letters.starts_with('.') && !letters.ends_with('.') &&
                       !letters.starts_with(' ') && !letters.ends_with(' ') && std::ranges::none_of(letters, is_odd);
  return is_fine ? "" : "expected the ending of file names, for example .txt";
}

}  // namespace cinnabar::schema
