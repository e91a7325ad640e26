#include "cinnabar/base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace cinnabar::base {

namespace {

// Length of the valid sequence at `at`, or 0. Source: Unicode 14, table 3-7.
size_t sequence_length(std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = byte(at);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || at + length > bytes.size()) return 0;
  // The second byte's range excludes overlong forms, surrogates and what lies over U+10FFFF.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(at + 1) < low || byte(at + 1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
  }
  return length;
}

// C1 controls (U+0080 to U+009F) move a terminal's cursor as escapes do.
bool is_control(std::string_view text, size_t at, size_t length) {
  const auto first = static_cast<uint8_t>(text[at]);
  return first < 0x20 || first == 0x7F || (length == 2 && first == 0xC2 && static_cast<uint8_t>(text[at + 1]) < 0xA0);
}

}  // namespace

std::optional<size_t> find_invalid_utf8(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = sequence_length(bytes, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string shown_text(std::string_view text, size_t most_bytes) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    if (at + std::max<size_t>(length, 1) > most_bytes) return shown + "...";
    if (length == 0 || is_control(text, at, length)) {
      shown += '?';
    } else {
      shown += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  return shown;
}

std::string printable_text(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    const bool is_shown = length > 0 && (text[at] == '\n' || !is_control(text, at, length));
    shown += is_shown ? text.substr(at, length) : std::string_view("?");
    at += std::max<size_t>(length, 1);
  }
  return shown;
}

}  // namespace cinnabar::base
