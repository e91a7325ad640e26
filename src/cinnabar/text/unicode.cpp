#include "cinnabar/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/base/utf8.h"

namespace cinnabar::text {
namespace {

struct Interval {
  char32_t first;
  char32_t last;
};

// Property Other_Lowercase and Other_Uppercase (PropList.txt): cased characters that are not Ll, Lu or Lt.
constexpr std::array kOtherCased = std::to_array<Interval>({
    {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},     {0x2E0, 0x2E4},
    {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},
    {0x2071, 0x2071},   {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2160, 0x217F},   {0x24B6, 0x24E9},
    {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x1F130, 0x1F149},
    {0x1F150, 0x1F169}, {0x1F170, 0x1F189},
});

// Word_Break MidLetter, MidNumLet and Single_Quote (WordBreakProperty.txt).
constexpr std::array kMiddleOfWord =
    std::to_array<char32_t>({0x27, 0x2E, 0x3A, 0xB7, 0x387, 0x55F, 0x5F4, 0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                             0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A});

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool is_cased(char32_t c) {
  const utf8proc_category_t kind = category(c);
  if (kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT) return true;
  return std::ranges::any_of(kOtherCased, [c](const Interval& i) { return c >= i.first && c <= i.last; });
}

bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::ranges::find(kMiddleOfWord, c) != kMiddleOfWord.end();
  }
}

// Unicode's Final_Sigma: a cased character before it and none after it, case-ignorable ones skipped.
bool is_final_sigma(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

// Length of the valid sequence at `at`, or 0 with `broken` set to the length of the longest broken part.
size_t sequence_length(std::string_view bytes, size_t at, size_t& broken) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = byte(at);
  broken = 1;
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (length == 0) return 0;
  // The second byte's range excludes overlong forms, surrogates and what lies over U+10FFFF.
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (at + i >= bytes.size() || byte(at + i) < low || byte(at + i) > high) {
      broken = i;
      return 0;
    }
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

std::u32string normalize(std::u32string_view text, int options) {
  const std::string bytes = encode_utf8(text);
  const auto* input = reinterpret_cast<const utf8proc_uint8_t*>(bytes.data());
  const auto flags = static_cast<utf8proc_option_t>(options);
  // Every decomposition is at most 18 code points (UAX 15); the first call asks for the size.
  std::vector<utf8proc_int32_t> buffer(bytes.size() + 16);
  const auto length = static_cast<utf8proc_ssize_t>(bytes.size());
  utf8proc_ssize_t count =
      utf8proc_decompose(input, length, buffer.data(), static_cast<utf8proc_ssize_t>(buffer.size()), flags);
  if (count > static_cast<utf8proc_ssize_t>(buffer.size())) {
    buffer.resize(static_cast<size_t>(count));
    count = utf8proc_decompose(input, length, buffer.data(), count, flags);
  }
  if (count >= 0) count = utf8proc_normalize_utf32(buffer.data(), count, flags);
  if (count < 0)
    throw base::Error(base::ErrorCode::Internal,
                      std::string("Unicode normalisation failed: ") + utf8proc_errmsg(count));
  std::u32string result;
  result.reserve(static_cast<size_t>(count));
  for (const utf8proc_int32_t c : std::span(buffer).first(static_cast<size_t>(count)))
    result += static_cast<char32_t>(c);
  return result;
}

}  // namespace

std::u32string decode_utf8(std::string_view bytes) {
  std::u32string text;
  text.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    size_t broken = 0;
    const size_t length = sequence_length(bytes, at, broken);
    const auto lead = static_cast<uint8_t>(bytes[at]);
    if (length == 0) {
      text += U'\uFFFD';
      at += broken;
      continue;
    }
    char32_t c = length == 1 ? lead : lead & (0x7FU >> length);
    for (size_t i = 1; i < length; ++i) c = (c << 6U) | (static_cast<uint8_t>(bytes[at + i]) & 0x3FU);
    text += c;
    at += length;
  }
  return text;
}

void append_utf8(char32_t c, std::string& out) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
  for (const utf8proc_uint8_t byte : std::span(bytes).first(static_cast<size_t>(length)))
    out += static_cast<char>(byte);
}

std::string encode_utf8(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (const char32_t c : text) append_utf8(c, bytes);
  return bytes;
}

std::optional<size_t> find_invalid_utf8(std::string_view bytes) { return base::find_invalid_utf8(bytes); }

bool is_letter(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_number(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_space(char32_t c) {
  if ((c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85) return true;
  if (c < 0xA0) return false;
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ZS && kind <= UTF8PROC_CATEGORY_ZP;
}

bool is_python_space(char32_t c) { return is_space(c) || (c >= 0x1C && c <= 0x1F); }

std::string_view strip(std::string_view utf8) {
  const auto is_space_part = [](std::string_view part) { return is_python_space(decode_utf8(part)[0]); };
  while (!utf8.empty()) {
    size_t broken = 0;
    const size_t length = sequence_length(utf8, 0, broken);
    if (length == 0 || !is_space_part(utf8.substr(0, length))) break;
    utf8.remove_prefix(length);
  }
  while (!utf8.empty()) {
    size_t start = utf8.size() - 1;
    while (start > 0 && (static_cast<uint8_t>(utf8[start]) & 0xC0U) == 0x80) --start;
    if (!is_space_part(utf8.substr(start))) break;
    utf8 = utf8.substr(0, start);
  }
  return utf8;
}

std::optional<int> digit_value(char32_t c) {
  if (c >= U'0' && c <= U'9') return static_cast<int>(c - U'0');
  if (c < 0x80 || category(c) != UTF8PROC_CATEGORY_ND) return std::nullopt;
  // Digits are encoded as runs 0 to 9 in order (UAX 44), several runs may touch.
  int before = 0;
  while (category(c - 1 - static_cast<char32_t>(before)) == UTF8PROC_CATEGORY_ND) ++before;
  return before % 10;
}

std::u32string to_lower(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i];
    if (c < 0x80) {
      result += c >= U'A' && c <= U'Z' ? c + 32 : c;
    } else if (c == 0x130) {
      result += U"i\u0307";
    } else if (c == 0x3A3) {
      result += is_final_sigma(text, i) ? char32_t{0x3C2} : char32_t{0x3C3};
    } else {
      result += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
    }
  }
  return result;
}

std::u32string normalize_nfc(std::u32string_view text) {
  // Below U+0300 every character is its own composed form and starts no new one.
  if (std::ranges::all_of(text, [](char32_t c) { return c < 0x300; })) return std::u32string(text);
  // Marks are sorted by exchanging neighbours, so a run of them takes time that grows with the square of its length.
  // Unicode's stream-safe form (UAX 15, section 13) has at most 30; longer runs than this one are sorted in parts.
  constexpr size_t kMaxMarks = 1024;
  std::u32string result;
  size_t start = 0;
  size_t marks = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool is_mark = utf8proc_get_property(static_cast<utf8proc_int32_t>(text[at]))->combining_class != 0;
    marks = is_mark ? marks + 1 : 0;
    if (marks < kMaxMarks) continue;
    result += normalize(text.substr(start, at + 1 - start), UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    start = at + 1;
    marks = 0;
  }
  if (start == 0) return normalize(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  return result + normalize(text.substr(start), UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

std::u32string compatibility_form(char32_t c) {
  return normalize(std::u32string_view(&c, 1), UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
}

}  // namespace cinnabar::text
