#include "cinnabar/text/weighted_prompt.h"

#include <doctest/doctest.h>

#include <string>

#include "cinnabar/base/error.h"

namespace cinnabar::text {
namespace {

// "text*weight|..." of the parsed prompt, weights to three places.
std::string parsed(std::string_view prompt) {
  std::string result;
  for (const WeightedPiece& piece : parse_weighted_prompt(prompt)) {
    const std::string weight = std::to_string(piece.weight);
    result += (result.empty() ? "" : "|") + piece.text + "*" + weight.substr(0, weight.find('.') + 4);
  }
  return result;
}

TEST_CASE("brackets_raise_and_lower_weights") {
  CHECK(parsed("an (important) word") == "an *1.000|important*1.100| word*1.000");
  CHECK(parsed("[low]") == "low*0.909");
  CHECK(parsed("(a:1.5)(b:0.5)") == "a*1.500|b*0.500");
  CHECK(parsed("(a (b:1.2) c:0.8)") == "a *0.800|b*0.960| c*0.800");
  CHECK(parsed("(neg:-1.0)(dot:.5)") == "neg*-1.000|dot*0.500");
  CHECK(parsed("(全角:１.３)") == "全角*1.300");
}

TEST_CASE("brackets_without_a_partner") {
  CHECK(parsed("(open") == "open*1.100");
  CHECK(parsed("close)") == "close)*1.000");
  CHECK(parsed("a:1.3)") == "a:1.3)*1.000");
  CHECK(parsed("(a:1.2.3x)") == "a:1.2.3x*1.100");
  CHECK(parsed("()") == "*1.000");
  CHECK(parsed("") == "*1.000");
}

TEST_CASE("escaped_brackets_are_text") {
  CHECK(parsed("\\(a\\) \\[b\\] \\\\") == "(a) [b] \\*1.000");
  CHECK(parsed("a\\b") == "ab*1.000");
}

TEST_CASE("a_weight_that_is_no_number_is_an_error") {
  CHECK_THROWS_WITH_AS((void)parse_weighted_prompt("(word:1.2.3)"), doctest::Contains("(...:1.2.3)"), base::Error);
  CHECK_THROWS_AS((void)parse_weighted_prompt("(word:.)"), base::Error);
}

TEST_CASE("rows_carry_the_weights_of_their_tokens") {
  const WeightedRows rows = encode_weighted_chunks(ClipTokenizer::shared(), "a (cat:1.5)", 75, Padding::EndToken);
  REQUIRE(rows.ids.size() == 1);
  CHECK(rows.ids == ClipTokenizer::shared().encode_chunks("a cat", 75, Padding::EndToken));
  CHECK(rows.weights[0][0] == 1.0);
  CHECK(rows.weights[0][1] == 1.0);
  CHECK(rows.weights[0][2] == 1.5);
  CHECK(rows.weights[0][3] == 1.0);
}

TEST_CASE("weights_go_on_in_the_next_row") {
  std::string prompt;
  for (int i = 0; i < 74; ++i) prompt += "cat ";
  const WeightedRows rows =
      encode_weighted_chunks(ClipTokenizer::shared(), prompt + "(dog dog:2)", 150, Padding::ZeroPlain);
  REQUIRE(rows.weights.size() == 2);
  CHECK(rows.weights[0][75] == 2.0);
  CHECK(rows.weights[0][76] == 1.0);
  CHECK(rows.weights[1][1] == 2.0);
  CHECK(rows.weights[1][2] == 1.0);
}

TEST_CASE("prompts_of_any_length_have_a_row_count") {
  CHECK(max_token_length_for(0, 3) == 75);
  CHECK(max_token_length_for(75, 3) == 75);
  CHECK(max_token_length_for(76, 3) == 150);
  CHECK(max_token_length_for(1000, 3) == 225);
}

}  // namespace
}  // namespace cinnabar::text
