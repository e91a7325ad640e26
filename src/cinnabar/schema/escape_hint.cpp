#include "cinnabar/schema/escape_hint.h"

#include "cinnabar/base/utf8.h"
#include "cinnabar/schema/problem.h"
#include "cinnabar/schema/secrets.h"

#include <algorithm>
#include <cstddef>

namespace cinnabar::schema {

namespace {

constexpr std::string_view kEscapes = "btnfr";
constexpr std::string_view kControls = "\b\t\n\f\r";

std::string with_slashes(std::string path) {
  std::ranges::replace(path, '\\', '/');
  return path;
}

// The control characters turned back into what was typed.
std::string as_typed(const std::string& path) {
  std::string result;
  for (const char c : path) {
    const size_t at = kControls.find(c);
    if (at == std::string_view::npos) {
      result += c;
    } else {
      result += '\\';
      result += kEscapes[at];
    }
  }
  return result;
}

}  // namespace

std::string escape_hint(const std::string& line) {
  const bool has_secret = without_secrets(line) != line;
  // In JSON the name of a key is the first of several texts.
  for (size_t open = line.find('"'); open != std::string::npos; open = line.find('"', open)) {
    size_t close = open + 1;
    bool has_single = false;
    for (; close < line.size() && line[close] != '"'; ++close) {
      if (line[close] != '\\') continue;
      const bool is_doubled = close + 1 < line.size() && line[close + 1] == '\\';
      has_single = has_single || !is_doubled;
      close += is_doubled ? 1 : 0;
    }
    if (has_single && has_secret) {
      return "; a backslash between \"...\" begins an escape (\\n is a line break); double every backslash";
    }
    if (has_single) {
      const std::string meant = line.substr(open + 1, close - open - 1);
      return "; a backslash between \"...\" begins an escape (\\n is a line break). For a path write \"" +
             with_slashes(base::shown_text(meant, kShownBytes)) + "\", or double every backslash";
    }
    open = std::min(close + 1, line.size());
  }
  return {};
}

std::string control_character_problem(const std::string& path) {
  if (path.find_first_of(kControls) == std::string::npos) return {};
  const std::string typed = as_typed(path);
  return "the path holds control characters: between \"...\" \\n is a line break and \\t a tab. Write \"" +
         with_slashes(typed) + "\", or double every backslash";
}

std::string line_at(const std::string& text, size_t byte) {
  const size_t at = std::min(byte, text.size());
  return line_of(text, 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

std::string line_of(const std::string& text, int64_t line) {
  size_t start = 0;
  for (int64_t i = 1; i < line; ++i) {
    const size_t end = text.find('\n', start);
    if (end == std::string::npos) return {};
    start = end + 1;
  }
  return text.substr(start, text.find('\n', start) - start);
}

}  // namespace cinnabar::schema
