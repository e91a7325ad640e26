// The classes and pairs below describe which neighbours ftfy 6.3 takes for wrong decodings (its "badness" heuristic,
// Apache-2.0), for the characters of Latin-1 and Windows-1252; its rules for other code pages are left out.
#include "cinnabar/text/mojibake.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "cinnabar/text/unicode.h"

namespace cinnabar::text {
namespace {

// Windows-1252, bytes 0x80 to 0x9F (unassigned bytes stand for themselves).
constexpr std::array<char32_t, 32> kWindows1252 = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                                   0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                                   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                                   0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

enum class CodePage { Latin1, Windows1252 };

enum Class : uint8_t { Other, Bad, Law, Currency, Opening, Closing, Numeric, Upper, Lower, kClasses };

constexpr bool contains(std::u32string_view set, char32_t c) { return set.find(c) != std::u32string_view::npos; }
constexpr bool within(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

Class class_of(char32_t c) {
  if (c < 0x80) return Other;
  if (within(c, 0xC0, 0xD1) || contains(U"ØÜÝŒŠŽŸ", c)) return Upper;
  if (within(c, 0xE0, 0xF1) || contains(U"ßüœšž", c)) return Lower;
  if (contains(U"¦¤¨¬¯¸ªºƒˆ˜†‡‰\uFFFD", c)) return Bad;
  if (contains(U"¶§", c)) return Law;
  if (contains(U"¢£¥€", c)) return Currency;
  if (contains(U"¡«¿©‘‚“„•‹", c)) return Opening;
  if (contains(U"®»”›™", c)) return Closing;
  return contains(U"²³¹±¼½¾×µ÷", c) ? Numeric : Other;
}

constexpr unsigned bit(Class c) { return 1U << c; }
constexpr unsigned kAnyMark =
    bit(Law) | bit(Currency) | bit(Opening) | bit(Closing) | bit(Numeric) | bit(Upper) | bit(Lower);

// For each class, the classes that hardly ever follow it in real text.
constexpr std::array<unsigned, kClasses> kUnlikelyAfter = [] {
  std::array<unsigned, kClasses> table{};
  for (unsigned& followers : table) followers = bit(Bad);
  table[Other] = 0;
  table[Bad] |= kAnyMark;
  table[Currency] |= bit(Upper) | bit(Lower) | bit(Opening);
  table[Numeric] |= bit(Upper) | bit(Lower) | bit(Opening);
  table[Closing] |= bit(Upper) | bit(Lower) | bit(Currency);
  table[Lower] |= bit(Upper) | bit(Currency);
  table[Upper] |= bit(Numeric) | bit(Law);
  return table;
}();

bool is_in(Class c, unsigned classes) { return (bit(c) & classes) != 0 && c != Other; }
bool is_word(char32_t c) { return c == U'_' || is_letter(c) || is_number(c); }
bool is_ascii_lower(char32_t c) { return within(c, U'a', U'z'); }

// `a b c` in a row; 0 stands for the text's end.
bool is_unlikely_triple(char32_t a, char32_t b, char32_t c) {
  const Class first = class_of(a);
  const Class second = class_of(b);
  const Class third = class_of(c);
  if (is_in(first, bit(Lower) | bit(Upper)) && is_in(second, bit(Opening) | bit(Closing)) && is_word(c)) return true;
  if (is_in(second, bit(Opening)) && third == Numeric)
    return is_in(first, bit(Lower) | bit(Upper) | bit(Currency) | bit(Closing));
  if (is_in(second, bit(Closing)) && third == Opening)
    return is_in(first, bit(Lower) | bit(Upper) | bit(Currency) | bit(Numeric) | bit(Law));
  if (second == Upper && is_in(third, bit(Opening) | bit(Currency)) && is_ascii_lower(a)) return true;
  if (second == Upper && third == Currency && is_python_space(a)) return true;
  const bool may_close_word = is_ascii_lower(a) || contains(U".,?!", a) || first == Closing;
  return a != 0 && may_close_word && b == U'Â' && (c == U' ' || is_in(third, bit(Opening) | bit(Closing)));
}

// Two-character sequences that the classes do not cover.
bool is_unlikely_pair(char32_t a, char32_t b) {
  if (is_in(class_of(b), kUnlikelyAfter[class_of(a)])) return true;
  if (contains(U"Œœ", a)) return b != 0 && !within(b | 0x20U, U'a', U'z');
  if (b == 0) return false;
  if (class_of(a) == Upper && b == U'°') return true;
  if (contains(U"ÂÃÎÐ", a) &&
      (contains(U"€œŠš¢£Ÿž\u00A0\u00AD®©°·»–—´", b) || is_in(class_of(b), bit(Opening) | bit(Closing))))
    return true;
  if (a == U'×') return contains(U"²³", b);
  if (a == U'à') return contains(U"²µ¹¼½¾", b);
  return a == U'Ã' && contains(U"\u00A0¡", b);
}

// Arabic letters all begin with the same two bytes: four characters are asked for, because each pair alone may be
// right.
bool is_arabic_start(std::u32string_view text, size_t i) {
  const auto is_pair = [&](size_t at) {
    return contains(U"ØÙ", text[at]) &&
           (contains(U"\u00A0\u00AD·´–—\u2015…’ŸŠ®°µ»", text[at + 1]) ||
            is_in(class_of(text[at + 1]), bit(Currency) | bit(Bad) | bit(Numeric) | bit(Opening)));
  };
  return i + 3 < text.size() && is_pair(i) && is_pair(i + 2);
}

// "Ã" or "Â" and a space, at the start of the text or after a lower-case letter.
bool is_lonely_lead(std::u32string_view text, size_t i) {
  if (!contains(U"ÃÂ", text[i]) || i + 1 >= text.size() || text[i + 1] != U' ') return false;
  if (i == 0 || is_ascii_lower(text[i - 1])) return true;
  return i > 1 && is_python_space(text[i - 1]) && is_ascii_lower(text[i - 2]);
}

std::optional<uint8_t> byte_of(char32_t c, CodePage page) {
  if (c < 0x80 || within(c, 0xA0, 0xFF) || (page == CodePage::Latin1 && c < 0xA0)) return static_cast<uint8_t>(c);
  if (page == CodePage::Latin1) return std::nullopt;
  const auto* found = std::ranges::find(kWindows1252, c);
  if (found == kWindows1252.end()) return std::nullopt;
  return static_cast<uint8_t>(0x80 + (found - kWindows1252.begin()));
}

std::optional<std::string> bytes_in(std::u32string_view text, CodePage page) {
  std::string bytes;
  for (const char32_t c : text) {
    const std::optional<uint8_t> byte = byte_of(c, page);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

// A no-break space (0xA0) is often turned into a plain one; puts it back where that completes a UTF-8 sequence. "Ã " as
// a word of its own is "à" and keeps its space; the Portuguese "às", "àquele", "àquela" and "àquilo" do not.
std::string restore_no_break_spaces(std::string bytes) {
  const auto byte = [&](size_t i) { return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : uint8_t{0}; };
  const auto is_tail = [&](size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  const auto is_firm_tail = [&](size_t i) { return is_tail(i) && byte(i) != 0x85 && byte(i) != 0xA0; };
  for (size_t i = 0; i + 1 < bytes.size(); ++i) {
    const uint8_t lead = byte(i);
    if (lead == 0xC3 && bytes[i + 1] == ' ') {
      const std::string_view rest = std::string_view(bytes).substr(i + 2);
      const bool is_joined = rest.starts_with(' ') || rest.starts_with("quele") || rest.starts_with("quela") ||
                             rest.starts_with("quilo") || rest.starts_with("s ");
      bytes.replace(i + 1, 1, is_joined ? "\xA0" : "\xA0 ");
    } else if (contains(U"\u00C2\u00C5\u00CE\u00D0\u00D9", lead) && bytes[i + 1] == ' ') {
      bytes[i + 1] = '\xA0';
    } else if ((lead == 0xE2 || lead == 0xE3) && bytes[i + 1] == ' ' && is_firm_tail(i + 2)) {
      bytes[i + 1] = '\xA0';
    } else if (lead >= 0xE0 && lead <= 0xE3 && is_firm_tail(i + 1) && byte(i + 2) == ' ') {
      bytes[i + 2] = '\xA0';
    } else if (lead == 0xF0) {
      const int spaces = (byte(i + 1) == ' ') + (byte(i + 2) == ' ') + (byte(i + 3) == ' ');
      const int tails = is_tail(i + 1) + is_tail(i + 2) + is_tail(i + 3);
      if (spaces == 1 && tails == 2)
        std::replace(bytes.begin() + static_cast<ptrdiff_t>(i), bytes.begin() + static_cast<ptrdiff_t>(i) + 4, ' ',
                     '\xA0');
    }
  }
  return bytes;
}

// How many characters from `at` look like UTF-8 sequences, one after the other.
size_t sequence_run(std::u32string_view text, size_t at) {
  const auto is_tail = [&](size_t i) {
    return i < text.size() &&
           (text[i] == U' ' || (byte_of(text[i], CodePage::Windows1252).value_or(0) & 0xC0U) == 0x80 ||
            within(text[i], 0x80, 0xBF));
  };
  size_t end = at;
  while (end < text.size()) {
    const char32_t lead = text[end];
    const size_t tails = within(lead, 0xC2, 0xDF) ? 1 : within(lead, 0xE0, 0xEF) ? 2 : within(lead, 0xF0, 0xF4) ? 3 : 0;
    if (tails == 0) break;
    for (size_t i = 1; i <= tails; ++i)
      if (!is_tail(end + i)) return end - at;
    end += tails + 1;
  }
  return end - at;
}

// Characters before a run that show it to be a part of a larger garble, which is left alone.
bool is_garble(char32_t c) { return within(c, 0x80, 0xBF) || contains(U"€ƒ†‡ˆ‰Š‹Œ˜™š›œžŽŸÆØæø", c); }

std::u32string repair_parts(std::u32string_view text) {
  std::u32string result;
  for (size_t i = 0; i < text.size();) {
    const size_t length = i > 0 && is_garble(text[i - 1]) ? 0 : sequence_run(text, i);
    const std::u32string_view part = text.substr(i, length);
    if (length > 0 && length < text.size() && looks_wrongly_decoded(part)) {
      result += repair_decoding(part);
    } else {
      result += text.substr(i, std::max<size_t>(length, 1));
    }
    i += std::max<size_t>(length, 1);
  }
  return result;
}

std::u32string repair_once(std::u32string_view text) {
  if (!looks_wrongly_decoded(text)) return std::u32string(text);
  for (const CodePage page : {CodePage::Latin1, CodePage::Windows1252}) {
    std::optional<std::string> bytes = bytes_in(text, page);
    if (!bytes) continue;
    const std::string restored = restore_no_break_spaces(std::move(*bytes));
    if (!find_invalid_utf8(restored)) return decode_utf8(restored);
  }
  std::u32string parts = repair_parts(text);
  if (parts != text) return parts;
  std::ranges::transform(parts, parts.begin(), windows_1252_of_c1);
  return parts;
}

}  // namespace

char32_t windows_1252_of_c1(char32_t c) { return within(c, 0x80, 0x9F) ? kWindows1252.at(c - 0x80) : c; }

bool looks_wrongly_decoded(std::u32string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? text[i] : char32_t{0}; };
  for (size_t i = 0; i < text.size(); ++i) {
    // Triples may begin one character before the first one beyond ASCII.
    if (within(text[i], 0x80, 0x9F)) return true;
    if (text[i] < 0x80 && at(i + 1) < 0x80) continue;
    if (is_unlikely_pair(text[i], at(i + 1)) || is_unlikely_triple(text[i], at(i + 1), at(i + 2)) ||
        is_arabic_start(text, i) || is_lonely_lead(text, i))
      return true;
  }
  return false;
}

std::u32string repair_decoding(std::u32string_view text) {
  std::u32string current(text);
  constexpr int kMaxPasses = 64;  // each undoes one wrong decoding
  for (int pass = 0; pass < kMaxPasses && std::ranges::any_of(current, [](char32_t c) { return c >= 0x80; }); ++pass) {
    std::u32string fixed = repair_once(current);
    if (fixed == current) break;
    current = std::move(fixed);
  }
  return current;
}

}  // namespace cinnabar::text
