#include "cinnabar/text/clip_tokenizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "cinnabar/base/error.h"

namespace cinnabar::text {
namespace {

using Ids = std::vector<int64_t>;

const ClipTokenizer& tokenizer() { return ClipTokenizer::shared(); }
Ids ids(std::string_view text) { return tokenizer().encode(text); }

// Ids in this file: transformers 4.54.1 CLIPTokenizer with ftfy 6.3.1.
TEST_CASE("encodes_words_of_the_vocabulary") {
  CHECK(ids("a photo of a cat") == Ids{320, 1125, 539, 320, 2368});
  CHECK(ids("A Photo\t Of  a CAT ") == ids("a photo of a cat"));
  CHECK(ids("").empty());
  CHECK(ids(" \n\u3000").empty());
}

TEST_CASE("splits_contractions_numbers_and_punctuation") {
  CHECK(ids("it's") == Ids{585, 568});
  CHECK(ids("don't") == Ids{847, 713});
  CHECK(ids("1girl") == Ids{272, 1611});
  CHECK(ids("100") == Ids{272, 271, 271});
  CHECK(ids("a , b") == ids("a,b"));
  CHECK(ids("!") == Ids{256});
}

TEST_CASE("invalid_utf8_counts_as_the_replacement_character") { CHECK(ids("a\xFFz") == ids("a\uFFFDz")); }

TEST_CASE("special_tokens_in_the_text_are_one_id") {
  CHECK(ids("<|endoftext|>") == Ids{49407});
  CHECK(ids("a<|startoftext|>b") == Ids{320, 49406, 321});
  CHECK(ids("<|ENDOFTEXT|>") == Ids{49407});
}

TEST_CASE("with_zero_padding_exclamation_marks_are_padding") {
  CHECK(tokenizer().encode("a! b", Padding::Zero) == Ids{320, 0, 321});
  CHECK(tokenizer().encode("a! b", Padding::ZeroPlain) == Ids{320, 256, 321});
  CHECK(tokenizer().encode("a！", Padding::Zero) == Ids{320, 256});  // the full-width mark is no "!" yet
}

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "cat ";
  return text;
}

TEST_CASE("rows_are_begin_text_end_and_padding") {
  const auto rows = tokenizer().encode_chunks("cat", 0, Padding::EndToken);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].size() == 77);
  CHECK(rows[0][0] == 49406);
  CHECK(rows[0][1] == 2368);
  CHECK(std::count(rows[0].begin(), rows[0].end(), 49407) == 75);
  CHECK(tokenizer().encode_chunks("cat", 75, Padding::EndToken) == rows);
  const auto zero = tokenizer().encode_chunks("cat", 0, Padding::Zero);
  CHECK(zero[0][2] == 49407);
  CHECK(std::count(zero[0].begin(), zero[0].end(), 0) == 74);
}

TEST_CASE("long_text_is_cut_into_rows") {
  const auto rows = tokenizer().encode_chunks(words(100), 150, Padding::EndToken);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0][75] == 2368);
  CHECK(rows[0][76] == 49407);
  CHECK(rows[1][0] == 49406);
  CHECK(rows[1][25] == 2368);
  CHECK(rows[1][26] == 49407);
  CHECK(tokenizer().encode_chunks(words(400), 225, Padding::EndToken)[2][75] == 2368);  // the rest is dropped
}

TEST_CASE("rows_padded_with_zero_get_their_end_tokens_back") {
  const auto rows = tokenizer().encode_chunks(words(80), 225, Padding::Zero);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0][76] == 49407);  // text runs on
  CHECK(rows[1][5] == 2368);
  CHECK(rows[1][6] == 49407);
  CHECK(rows[1][76] == 0);
  CHECK(rows[2][1] == 49407);  // a row of padding only
  CHECK(rows[2][2] == 0);
}

TEST_CASE("refuses_lengths_that_are_no_multiple_of_75") {
  for (const int64_t length : {-75, 1, 77, 100})
    CHECK_THROWS_AS((void)tokenizer().encode_chunks("cat", length, Padding::Zero), base::Error);
}

TEST_CASE("threads_get_the_same_ids") {
  const Ids expected = ids("zyzzyva quokkas, übergroß");
  std::vector<Ids> results(4);
  {
    std::vector<std::jthread> threads;
    for (Ids& result : results)
      threads.emplace_back([&result] {
        for (int i = 0; i < 50; ++i) result = ids("zyzzyva quokkas, übergroß " + std::to_string(i));
        result = ids("zyzzyva quokkas, übergroß");
      });
  }
  for (const Ids& result : results) CHECK(result == expected);
}

}  // namespace
}  // namespace cinnabar::text
