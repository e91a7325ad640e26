#include "cinnabar/text/text_repair.h"

#include <doctest/doctest.h>

#include "cinnabar/text/mojibake.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::text {
namespace {

std::string repair(std::string_view text) { return encode_utf8(repair_text(decode_utf8(text))); }

TEST_CASE("html_entities_are_decoded_unless_the_text_holds_a_tag") {
  CHECK(repair("&amp; &quot;x&quot; &#39;y&#39; &#x2014; &eacute; P&EACUTE;REZ") == "& \"x\" 'y' — é PÉREZ");
  CHECK(repair("&amp;amp;") == "&");
  CHECK(repair("<b>&amp;</b>") == "<b>&amp;</b>");
  CHECK(repair("&amp;\n<b>\n&amp;") == "&\n<b>\n&amp;");
  CHECK(repair("&unknown; &amp &#xyz; &#;") == "&unknown; &amp &#xyz; &#;");
  CHECK(repair("&#59;") == "&#59;");                 // ftfy leaves the reference to ";" alone
  CHECK(repair("&#128;&#1;&#55296;") == "€\uFFFD");  // Windows-1252, nothing, surrogate
  CHECK(repair("a&NewLine;b&Tab;c") == "a\nb\tc");
  CHECK(repair("&NotEqualTilde;") == "\u2242\u0338");  // two characters
}

TEST_CASE("quotes_ligatures_and_widths_become_plain") {
  CHECK(repair("“curly” ‘single’ don’t ʼn") == "\"curly\" 'single' don't 'n");
  CHECK(repair("ﬁ ﬄ ŉ Ĳ ǆ") == "fi ffl 'n IJ dž");
  CHECK(repair("ｆｕｌｌ\u3000ＡＢＣ１２３！ ｶﾞ ￥") == "full ABC123! ガ ¥");
  CHECK(repair("Ⅷ ① ½ ²") == "Ⅷ ① ½ ²");
}

TEST_CASE("line_breaks_controls_and_terminal_escapes") {
  CHECK(repair("a\r\nb\rc\u2028d\u2029e") == "a\nb\nc\nd\ne");
  CHECK(repair("\x07"
               "bell\x7F\uFEFF\uFFFCx") == "bellx");
  CHECK(repair("\x1B[36;44mblue\x1B[0m") == "blue");
  CHECK(repair("zero\u200Bwidth\u00ADsoft") == "zero\u200Bwidth\u00ADsoft");
  CHECK(repair(std::string_view("a\0b", 3)) == "ab");
}

TEST_CASE("utf8_read_as_latin1_or_windows1252_is_repaired") {
  CHECK(repair("donâ€™t cafÃ© â€” Â£5") == "don't café — £5");
  CHECK(repair("voilÃ  le travail") == "voilà le travail");
  CHECK(repair("Ã\u00A0 la mode") == "à la mode");
  CHECK(repair("Ã la mode") == "à la mode");
  CHECK(repair("cafÃƒÂ©") == "café");             // twice
  CHECK(repair("日本 donâ€™t") == "日本 don't");  // only a part
  CHECK(repair("\u0093quoted\u0094 \u0081") == "\"quoted\" \u0081");
  CHECK(repair("ðŸ˜€ smile") == "😀 smile");
}

TEST_CASE("western_text_that_could_be_utf8_by_chance_is_kept") {
  for (const std::string_view text :
       {"CAFÉ…", "«CAFÉ»", "CAFÉ\u00A0!", "CAFÉ™", "À L–", "20°C", "ÑANDÚ – ÜBER", "5 × 3", "São Paulo®"})
    CHECK(repair(text) == text);
  CHECK_FALSE(looks_wrongly_decoded(U"crème brûlée, œuf, GRÖSSE, naïveté"));
}

TEST_CASE("html_unescape_reads_whole_references_only") {
  CHECK(unescape_html(U"a&lt;b") == U"a<b");
  CHECK(unescape_html(U"&lt") == U"&lt");
  CHECK(unescape_html(U"&&gt;&") == U"&>&");
}

}  // namespace
}  // namespace cinnabar::text
