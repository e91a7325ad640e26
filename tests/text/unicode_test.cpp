#include "cinnabar/text/unicode.h"

#include <doctest/doctest.h>

namespace cinnabar::text {
namespace {

std::string lower(std::string_view text) { return encode_utf8(to_lower(decode_utf8(text))); }

TEST_CASE("broken_utf8_becomes_one_replacement_for_each_broken_part") {
  CHECK(encode_utf8(decode_utf8("a\xFFz")) == "a\uFFFDz");
  CHECK(encode_utf8(decode_utf8("\xE2\x82z")) == "\uFFFDz");                     // cut three-byte sequence: one part
  CHECK(encode_utf8(decode_utf8("\xC0\x80")) == "\uFFFD\uFFFD");                 // overlong
  CHECK(encode_utf8(decode_utf8("\xED\xA0\x80")) == "\uFFFD\uFFFD\uFFFD");       // surrogate
  CHECK(encode_utf8(decode_utf8("\xF4\x90\x80\x80")).substr(0, 3) == "\uFFFD");  // beyond U+10FFFF
  CHECK(encode_utf8(decode_utf8("grün 日本 😀")) == "grün 日本 😀");
}

TEST_CASE("finds_the_first_invalid_byte") {
  CHECK_FALSE(find_invalid_utf8("grün 日本 😀"));
  CHECK(find_invalid_utf8("caf\xE9").value() == 3);
  CHECK(find_invalid_utf8("\xC3").value() == 0);
  CHECK(find_invalid_utf8("ab\xED\xA0\x80").value() == 2);
}

TEST_CASE("lower_case_follows_full_unicode_rules") {
  CHECK(lower("ÀÉÎ ПРИВЕТ ẞ") == "àéî привет ß");
  CHECK(lower("İ") == "i\u0307");
  CHECK(lower("ΟΔΥΣΣΕΥΣ ΣΑΣ.") == "οδυσσευς σας.");
  CHECK(lower("Σ") == "σ");                // no letter before it
  CHECK(lower("ΑΣ\u0301") == "ας\u0301");  // marks are skipped
  CHECK(lower("ΑΣ'Β") == "ασ'β");          // an apostrophe does not end the word
}

TEST_CASE("classes_of_characters") {
  CHECK(is_letter(U'ª'));
  CHECK_FALSE(is_letter(U'1'));
  CHECK(is_number(U'Ⅷ'));
  CHECK(is_number(U'²'));
  CHECK(is_space(U'\u3000'));
  CHECK(is_space(U'\u2028'));
  CHECK_FALSE(is_space(U'\u200B'));
  CHECK_FALSE(is_space(U'\x1C'));
  CHECK(is_python_space(U'\x1C'));
}

TEST_CASE("strips_unicode_white_space") {
  CHECK(strip("\u3000\t a b\u00A0\n") == "a b");
  CHECK(strip(" \u2003 ").empty());
  CHECK(strip("\xFF x \xFF") == "\xFF x \xFF");
}

TEST_CASE("digits_of_every_script_have_their_value") {
  CHECK(digit_value(U'7').value() == 7);
  CHECK(digit_value(U'３').value() == 3);
  CHECK(digit_value(U'\u0663').value() == 3);
  CHECK(digit_value(char32_t{0x1D7D9}).value() == 1);  // second run of five that touch
  CHECK_FALSE(digit_value(U'²'));
}

TEST_CASE("composes_marks_and_keeps_compatibility_characters") {
  CHECK(normalize_nfc(U"e\u0301 \u212B ①") == U"é Å ①");
  CHECK(normalize_nfc(U"\u1100\u1161") == U"가");
}

}  // namespace
}  // namespace cinnabar::text
