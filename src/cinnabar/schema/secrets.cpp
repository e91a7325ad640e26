#include "cinnabar/schema/secrets.h"

#include <algorithm>

namespace cinnabar::schema {

namespace {

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

size_t after_spaces(const std::string& text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// The end of a value that begins at `at`: behind its closing quote, or at the next space, comma or quote.
size_t value_end(const std::string& text, size_t at) {
  const size_t quotes = text[at] == '\\' ? 1 : 0;  // \" inside a JSON text
  const char quote = at + quotes < text.size() ? text[at + quotes] : '\0';
  if (quote == '"' || quote == '\'') {
    const size_t close = text.find(quote, at + quotes + 1);
    return close == std::string::npos ? text.size() : close + 1;
  }
  while (at < text.size() && !is_space(text[at]) && text[at] != ',' && text[at] != '"' && text[at] != '}') ++at;
  return at;
}

// Where the value of the name in [begin, end) begins, or npos when none follows.
size_t value_start(const std::string& text, size_t begin, size_t end) {
  size_t at = end;
  if (at < text.size() && text[at] == '\\') ++at;
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;
  const size_t next = after_spaces(text, at);
  if (next >= text.size()) return std::string::npos;
  if (text[next] == '=' || text[next] == ':') {
    const size_t start = after_spaces(text, next + 1);
    return start < text.size() ? start : std::string::npos;
  }
  // Words of a command line: "--name value".
  return text[begin] == '-' && next > at && text[next] != '-' ? next : std::string::npos;
}

}  // namespace

bool is_secret_option(const std::string& name) {
  std::string plain;
  for (const char c : name) plain += c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (plain == "num_vectors_per_token" || plain == "class_token" || plain == "init_token") return false;
  return plain.ends_with("token") || plain.find("api_key") != std::string::npos;
}

std::string without_secrets(const std::string& text) {
  std::string result;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && is_name_byte(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const size_t start = is_secret_option(text.substr(at, end - at)) ? value_start(text, at, end) : std::string::npos;
    if (start == std::string::npos) {
      result.append(text, at, end - at);
      at = end;
    } else {
      result.append(text, at, start - at);
      result += kHidden;
      at = std::max(value_end(text, start), start + 1);
    }
  }
  return result;
}

}  // namespace cinnabar::schema
