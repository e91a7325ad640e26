#include "cinnabar/hardware/text_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace cinnabar::hardware {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  size_t start = 0;
  while (start < text.size()) {
    size_t end = text.find('\n', start);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(start, end - start);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.emplace_back(line);
    start = end + 1;
  }
  return lines;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    const size_t end = text.find(separator, start);
    parts.push_back(trimmed(text.substr(start, end == std::string_view::npos ? end : end - start)));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
      continue;
    }
    while (i < text.size() && !((text[i] >= 'A' && text[i] <= 'Z') || (text[i] >= 'a' && text[i] <= 'z'))) ++i;
  }
  return plain;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool contains_words(std::string_view text, std::string_view words) {
  return std::search(text.begin(), text.end(), words.begin(), words.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

bool is_known(std::string_view text) {
  const std::string word = lowered(trimmed(text));
  if (word.empty() || word.front() == '[') return false;
  for (const std::string_view unknown : {"n/a", "unknown", "none", "null", "not supported"}) {
    if (word.starts_with(unknown)) return false;
  }
  return true;
}

std::optional<int64_t> integer_of(std::string_view text) {
  std::string word = trimmed(text);
  int base = 10;
  if (word.starts_with("0x") || word.starts_with("0X")) {
    word.erase(0, 2);
    base = 16;
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<double> number_of(std::string_view text) {
  const std::string word = trimmed(text);
  if (!is_known(word)) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end == word.data() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int64_t> whole_of(double value) {
  if (!(std::abs(value) <= 1e15)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<int64_t> whole_of(std::string_view text) {
  const auto number = number_of(text);
  return number ? whole_of(*number) : std::nullopt;
}

Version version_of(std::string_view text) {
  Version version;
  std::string word = trimmed(text);
  size_t at = word.find_first_of("0123456789");
  while (at < word.size()) {
    int number = 0;
    const auto [end, error] = std::from_chars(word.data() + at, word.data() + word.size(), number);
    if (error != std::errc()) break;
    version.push_back(number);
    at = static_cast<size_t>(end - word.data());
    if (at >= word.size() || word[at] != '.') break;
    ++at;
  }
  return version;
}

bool is_at_least(const Version& version, std::initializer_list<int> least) {
  return !std::lexicographical_compare(version.begin(), version.end(), least.begin(), least.end());
}

std::string version_text(const Version& version) {
  std::string text;
  for (const int number : version) text += (text.empty() ? "" : ".") + std::to_string(number);
  return text;
}

double gib(int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }

std::string memory_text(int64_t bytes) {
  if (bytes < int64_t{1} << 30) return formatted("%.0f MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
  return formatted("%.1f GiB", gib(bytes));
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : between) + part;
  }
  return text;
}

std::string labelled(const std::string& text, std::string_view label) {
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with(label)) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos) return trimmed(std::string_view(line).substr(colon + 1));
  }
  return {};
}

std::optional<int64_t> labelled_bytes(const std::string& text, std::string_view label) {
  const auto value = whole_of(labelled(text, label));
  return value ? std::optional(*value * 1024) : std::nullopt;
}

}  // namespace cinnabar::hardware
