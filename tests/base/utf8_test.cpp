#include "cinnabar/base/utf8.h"

#include <doctest/doctest.h>

namespace cinnabar::base {
namespace {

TEST_CASE("finds_the_first_byte_that_is_no_UTF8") {
  CHECK(!find_invalid_utf8(""));
  CHECK(!find_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
  CHECK(find_invalid_utf8("ab\xFF") == 2);
  CHECK(find_invalid_utf8("\xC0\x80") == 0);           // overlong
  CHECK(find_invalid_utf8("\xED\xA0\x80") == 0);       // surrogate
  CHECK(find_invalid_utf8("a\xF4\x90\x80\x80") == 1);  // over U+10FFFF
  CHECK(find_invalid_utf8("a\xE2\x82") == 1);          // cut off
  CHECK(find_invalid_utf8("\xF0\x9F\x98z") == 0);
}

TEST_CASE("printable_text_keeps_line_breaks_and_nothing_that_steers_a_terminal") {
  CHECK(printable_text("a\n\xC3\xA9") == "a\n\xC3\xA9");
  CHECK(printable_text("\x1B[31m\r\t\x7F") == "?[31m???");
  CHECK(printable_text("\xC2\x9B\xFF") == "??");
}

TEST_CASE("texts_from_files_are_shown_without_what_moves_a_terminal") {
  CHECK(shown_text("name", 10) == "name");
  CHECK(shown_text("a\x1B[31mb\nc\x7F", 20) == "a?[31mb?c?");
  CHECK(shown_text("\xC2\x9B"
                   "31m",
                   20) == "?31m");  // the one-byte form of ESC [
  CHECK(shown_text("\xFFx\xC3", 20) == "?x?");
  CHECK(shown_text("\xC3\xA9\xC3\xA9", 3) == "\xC3\xA9...");  // never half a character
  CHECK(shown_text(std::string(200, 'a'), 120) == std::string(120, 'a') + "...");
}

}  // namespace
}  // namespace cinnabar::base
