#include "cinnabar/text/text_repair.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "cinnabar/text/html_entities.h"
#include "cinnabar/text/mojibake.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::text {
namespace {

constexpr size_t kMaxSegment = 1'000'000;  // code points; longer lines are repaired in parts
// A text of sense is at rest after three or four; "&amp;amp;amp;..." takes as many as it has "amp;".
constexpr int kMaxPasses = 64;

struct Expansion {
  char32_t ligature;
  std::u32string_view letters;
};

constexpr std::array kLigatures = std::to_array<Expansion>({
    {U'\u0132', U"IJ"},      {U'\u0133', U"ij"},      {U'\u0149', U"\u02BCn"}, {U'\u01C4', U"D\u017D"},
    {U'\u01C5', U"D\u017E"}, {U'\u01C6', U"d\u017E"}, {U'\u01C7', U"LJ"},      {U'\u01C8', U"Lj"},
    {U'\u01C9', U"lj"},      {U'\u01CA', U"NJ"},      {U'\u01CB', U"Nj"},      {U'\u01CC', U"nj"},
    {U'\u01F1', U"DZ"},      {U'\u01F2', U"Dz"},      {U'\u01F3', U"dz"},      {U'\uFB00', U"ff"},
    {U'\uFB01', U"fi"},      {U'\uFB02', U"fl"},      {U'\uFB03', U"ffi"},     {U'\uFB04', U"ffl"},
    {U'\uFB05', U"\u017Ft"}, {U'\uFB06', U"st"},
});

bool is_ascii_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_ascii_letter(char32_t c) { return (c | 0x20U) >= U'a' && (c | 0x20U) <= U'z'; }

// HTML5's rule for numbers that are no characters (section 13.2.5.80): nothing for non-characters and controls, U+FFFD
// for surrogates and what is too large, Windows-1252 for C1.
std::u32string character_of_number(uint32_t number) {
  if (number == 0 || (number >= 0xD800 && number <= 0xDFFF) || number > 0x10FFFF) return U"\uFFFD";
  if (number >= 0x80 && number <= 0x9F) return {windows_1252_of_c1(number)};
  const bool is_control =
      (number < 0x20 && number != 0x09 && number != 0x0A && number != 0x0C && number != 0x0D) || number == 0x7F;
  const bool is_no_character = (number >= 0xFDD0 && number <= 0xFDEF) || (number & 0xFFFEU) == 0xFFFE;
  if (is_control || is_no_character) return {};
  return {static_cast<char32_t>(number)};
}

// `body` is what stands between "&#" and ";". Only complete references count, and not the one to ";" itself.
std::optional<std::u32string> numeric_reference(std::u32string_view body) {
  const bool is_hex = !body.empty() && (body[0] | 0x20U) == U'x';
  if (is_hex) body.remove_prefix(1);
  if (body.empty()) return std::nullopt;
  uint32_t number = 0;
  for (const char32_t c : body) {
    const bool is_hex_letter = is_hex && (c | 0x20U) >= U'a' && (c | 0x20U) <= U'f';
    if (!is_ascii_digit(c) && !is_hex_letter) return std::nullopt;
    const uint32_t digit = is_ascii_digit(c) ? c - U'0' : (c | 0x20U) - U'a' + 10;
    number = std::min<uint32_t>(number * (is_hex ? 16 : 10) + digit, 0x110000);
  }
  if (number == U';') return std::nullopt;
  return character_of_number(number);
}

std::u32string expand(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (const char32_t c : text) {
    const auto* found = c < 0x132 ? kLigatures.end() : std::ranges::find(kLigatures, c, &Expansion::ligature);
    if (found != kLigatures.end()) {
      result += found->letters;
    } else if (c == 0x3000) {
      result += U' ';
    } else if (c >= 0xFF01 && c <= 0xFFEF) {
      result += compatibility_form(c);
    } else {
      result += c >= 0x80 && c <= 0x9F ? windows_1252_of_c1(c) : c;
    }
  }
  return result;
}

char32_t straight_quote(char32_t c) {
  if (c == 0x2BC || (c >= 0x2018 && c <= 0x201B)) return U'\'';
  return c >= 0x201C && c <= 0x201F ? U'"' : c;
}

bool is_removed_control(char32_t c) {
  return c <= 0x08 || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || (c >= 0x206A && c <= 0x206F) ||
         c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFC);
}

// Length of the terminal escape "ESC [ digits-and-semicolons letter" at `at`, or 0.
size_t terminal_escape_length(std::u32string_view text, size_t at) {
  if (text[at] != 0x1B || at + 1 >= text.size() || text[at + 1] != U'[') return 0;
  size_t end = at + 2;
  while (end < text.size() && (text[end] == U';' || digit_value(text[end]))) ++end;
  return end < text.size() && is_ascii_letter(text[end]) ? end + 1 - at : 0;
}

// Quotes, line breaks, terminal escapes, control characters.
std::u32string plain_characters(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i];
    if (c == U'\r' && i + 1 < text.size() && text[i + 1] == U'\n') continue;
    if (c == U'\r' || c == 0x2028 || c == 0x2029) {
      result += U'\n';
    } else if (const size_t length = terminal_escape_length(text, i); length > 0) {
      i += length - 1;
    } else if (!is_removed_control(c)) {
      result += straight_quote(c);
    }
  }
  return result;
}

bool is_plain_ascii(std::u32string_view text) {
  return std::ranges::all_of(text, [](char32_t c) { return c == U'\n' || (c >= 0x20 && c < 0x7F && c != U'&'); });
}

std::u32string repair_segment(std::u32string_view segment, bool decodes_html) {
  std::u32string text(segment);
  for (int pass = 0; pass < kMaxPasses && !is_plain_ascii(text); ++pass) {
    std::u32string fixed = decodes_html ? unescape_html(text) : text;
    fixed = normalize_nfc(plain_characters(expand(repair_decoding(fixed))));
    if (fixed == text) break;
    text = std::move(fixed);
  }
  return text;
}

}  // namespace

std::u32string unescape_html(std::u32string_view text) {
  std::u32string result;
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] != U'&') continue;
    const bool is_numeric = i + 1 < text.size() && text[i + 1] == U'#';
    const size_t start = i + (is_numeric ? 2 : 1);
    size_t end = start;
    while (end < text.size() && end - start < 24 && (is_ascii_digit(text[end]) || is_ascii_letter(text[end]))) ++end;
    if (end == start || end >= text.size() || text[end] != U';') continue;
    const std::u32string_view body = text.substr(start, end - start);
    std::optional<std::u32string> character;
    if (is_numeric) {
      character = numeric_reference(body);
    } else if (const std::string_view found = html_entity(encode_utf8(body)); !found.empty()) {
      character = decode_utf8(found);
    }
    if (!character) continue;
    result.pop_back();
    result += *character;
    i = end;
  }
  return result;
}

std::u32string repair_text(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  bool decodes_html = true;
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find(U'\n', at);
    const size_t end = std::min(newline == std::u32string_view::npos ? text.size() : newline + 1, at + kMaxSegment);
    const std::u32string_view segment = text.substr(at, end - at);
    // A literal "<" says that this and all that follows is HTML source, whose entities are meant to stay.
    decodes_html = decodes_html && segment.find(U'<') == std::u32string_view::npos;
    result += repair_segment(segment, decodes_html);
    at = end;
  }
  return result;
}

}  // namespace cinnabar::text
