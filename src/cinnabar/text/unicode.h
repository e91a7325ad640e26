// Unicode text as code points, with the character classes and case rules that the CLIP tokenizer needs (utf8proc).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cinnabar::text {

// Invalid bytes become U+FFFD, one for each longest broken part (Unicode 14, section 3.9, the practice of WHATWG).
std::u32string decode_utf8(std::string_view bytes);
std::string encode_utf8(std::u32string_view text);
void append_utf8(char32_t code_point, std::string& out);
// Offset of the first byte that is not part of valid UTF-8 (surrogates and overlong forms are invalid), or nothing.
std::optional<size_t> find_invalid_utf8(std::string_view bytes);

bool is_letter(char32_t c);  // general category L*
bool is_number(char32_t c);  // general category N*
bool is_space(char32_t c);   // property White_Space
// What Python's str.strip() and str.split() take for white space: White_Space and U+001C..U+001F.
bool is_python_space(char32_t c);
// Without that white space at both ends.
std::string_view strip(std::string_view utf8);
// Value of a decimal digit of any script (general category Nd), or nothing.
std::optional<int> digit_value(char32_t c);

// Full lower-casing of Unicode's SpecialCasing without languages: U+0130 becomes two characters, a capital sigma at the
// end of a word becomes a final sigma.
std::u32string to_lower(std::u32string_view text);
std::u32string normalize_nfc(std::u32string_view text);
// Compatibility form (NFKC) of one character.
std::u32string compatibility_form(char32_t c);

}  // namespace cinnabar::text
