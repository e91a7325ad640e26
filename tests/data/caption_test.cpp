#include "cinnabar/data/caption.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "cinnabar/base/error.h"

namespace cinnabar::data {
namespace {

// Hands out prepared numbers; shuffling reverses.
class ScriptedRandom : public CaptionRandom {
 public:
  explicit ScriptedRandom(std::deque<double> uniforms = {}, std::deque<size_t> choices = {})
      : uniforms_(std::move(uniforms)), choices_(std::move(choices)) {}
  double uniform() override { return take(uniforms_, 0.5); }
  size_t choice(size_t) override { return take(choices_, size_t{0}); }
  void shuffle(std::span<std::string> tags) override { std::ranges::reverse(tags); }

 private:
  template <class T>
  static T take(std::deque<T>& queue, T fallback) {
    if (queue.empty()) return fallback;
    const T value = queue.front();
    queue.pop_front();
    return value;
  }
  std::deque<double> uniforms_;
  std::deque<size_t> choices_;
};

std::string process(std::string_view caption, const CaptionOptions& options, ScriptedRandom random = ScriptedRandom(),
                    const CaptionMoment& moment = {}) {
  return process_caption(caption, options, moment, {}, random);
}

TEST_CASE("prefix_and_suffix_are_joined_by_a_space_and_belong_to_their_lines") {
  CHECK(process("cat", {.caption_prefix = "photo,", .caption_suffix = "hd"}) == "photo, cat hd");
  CHECK(process("cat\ndog", {.caption_prefix = "a", .caption_suffix = "z"}) == "a cat");
}

TEST_CASE("dropout_empties_the_caption_and_skips_the_rest") {
  CHECK(process("cat", {.caption_prefix = "x", .caption_dropout_rate = 0.3}, ScriptedRandom({0.29})).empty());
  CHECK(process("cat", {.caption_dropout_rate = 0.3}, ScriptedRandom({0.3})) == "cat");
  CHECK(process("cat", {.caption_dropout_every_n_epochs = 2}, ScriptedRandom(), {.epoch = 4}).empty());
  CHECK(process("cat", {.caption_dropout_every_n_epochs = 2}, ScriptedRandom(), {.epoch = 5}) == "cat");
  ScriptedRandom random;
  const std::vector<CaptionReplacement> all = {{"", {"photo of tok"}}};
  CHECK(process_caption("cat", {.caption_dropout_rate = 1.0}, {}, all, random).empty());
}

TEST_CASE("wildcards_choose_a_line_and_alternatives") {
  const CaptionOptions options{.enable_wildcard = true};
  CHECK(process("a {red|blue} {big|small} car", options, ScriptedRandom({}, {1, 0})) == "a blue big car");
  CHECK(process("one\n{two|three}", options, ScriptedRandom({}, {1, 1})) == "three");
  CHECK(process("{{literal}} {|x}", options) == "{literal} ");
  CHECK(process("{} {open", options) == "{} {open");
  CHECK(process("{a{b|c}}", options, ScriptedRandom({}, {1})) == "{a{b|c}");  // "}}" is a brace, no end of a group
  CHECK(process("a {red|blue}", {}) == "a {red|blue}");
}

TEST_CASE("shuffling_keeps_the_leading_tags_and_joins_with_comma_and_space") {
  CHECK(process("a,b , c,,d", {.shuffle_caption = true, .keep_tokens = 1}) == "a, d, , c, b");
  CHECK(process("a. b. c", {.shuffle_caption = true, .caption_separator = "."}) == "c. b. a");
  CHECK(process("a. b. c", {.shuffle_caption = true, .caption_separator = ".", .caption_joiner = ", "}) == "c, b, a");
  CHECK(process("a, b", {.shuffle_caption = true, .keep_tokens = 9}) == "a, b");
  CHECK(process(" a , b ", {}) == " a , b ");
}

TEST_CASE("the_keep_tokens_separator_fixes_both_ends") {
  const CaptionOptions options{.shuffle_caption = true, .keep_tokens = 9, .keep_tokens_separator = "|||"};
  CHECK(process("a, b ||| c, d, e ||| f, g", options) == "a, b, e, d, c, f, g");
  CHECK(process("a ||| b,, c", options) == "a, c, b");
  CHECK(process("a ||| b", {.keep_tokens_separator = "|||"}) == "a ||| b");  // nothing splits, so it stays
}

TEST_CASE("tags_are_dropped_one_by_one_after_shuffling") {
  const CaptionOptions options{.caption_tag_dropout_rate = 0.5, .keep_tokens = 1};
  CHECK(process("a, b, c, d", options, ScriptedRandom({0.1, 0.5, 0.49})) == "a, c");
}

TEST_CASE("token_warmup_lets_tags_in_over_the_steps") {
  const CaptionOptions counted{.token_warmup_min = 2, .token_warmup_step = 10};
  CHECK(process("a, b, c, d, e, f", counted, ScriptedRandom(), {.step = 0}) == "a, b");
  CHECK(process("a, b, c, d, e, f", counted, ScriptedRandom(), {.step = 5}) == "a, b, c, d");
  CHECK(process("a, b, c, d, e, f", counted, ScriptedRandom(), {.step = 10}) == "a, b, c, d, e, f");
  CHECK(process("a", counted, ScriptedRandom(), {.step = 0}) == "a");
  const CaptionOptions share{.keep_tokens = 1, .token_warmup_step = 0.5};
  CHECK(process("a, b, c, d, e", share, ScriptedRandom(), {.step = 20, .max_train_steps = 100}) == "a, b, c");
}

TEST_CASE("the_secondary_separator_keeps_tags_together") {
  CHECK(process("a;;;b, c", {.shuffle_caption = true, .secondary_separator = ";;;"}) == "c, a,b");
}

TEST_CASE("replacements_apply_in_order") {
  ScriptedRandom random({}, {1});
  const std::vector<CaptionReplacement> replacements = {{"sks", {"tok tok1"}}, {"tok1", {"x", "y"}}};
  CHECK(process_caption("sks and sks", {}, {}, replacements, random) == "tok y and tok y");
}

TEST_CASE("an_empty_separator_is_refused_where_it_is_needed") {
  CHECK(process("a, b", {.caption_separator = ""}) == "a, b");
  CHECK_THROWS_AS((void)process("a, b", {.shuffle_caption = true, .caption_separator = ""}), base::Error);
}

TEST_CASE("streams_depend_on_seed_epoch_and_sample_alone") {
  const CaptionOptions options{.shuffle_caption = true};
  const auto draw = [&](uint64_t seed, uint64_t epoch, uint64_t sample) {
    StreamCaptionRandom random(seed, epoch, sample);
    return process_caption("a, b, c, d, e, f, g, h", options, {}, {}, random);
  };
  CHECK(draw(1, 2, 3) == draw(1, 2, 3));
  std::set<std::string> orders;
  for (uint64_t i = 0; i < 8; ++i) orders.insert({draw(i, 1, 1), draw(1, i + 10, 1), draw(1, 1, i + 10)});
  CHECK(orders.size() > 20);
}

TEST_CASE("names_the_options_that_forbid_cached_text_states") {
  CHECK(varying_caption_options({.caption_prefix = "x", .keep_tokens = 2}).empty());
  CHECK(varying_caption_options({.caption_dropout_rate = 0.1, .shuffle_caption = true}) ==
        std::vector<std::string>{"caption_dropout_rate", "shuffle_caption"});
}

TEST_CASE("the_separator_is_kept_when_tags_are_shuffled") {
  const CaptionOptions options{.shuffle_caption = true, .caption_separator = ";"};
  CHECK(process("a; b; c", options) == "c; b; a");
  CHECK(process("a | b", {.shuffle_caption = true, .caption_separator = " | "}) == "b | a");
}

TEST_CASE("the_line_policy_decides_which_part_of_a_long_caption_is_used") {
  const std::string caption = "a, b\nc, d,\ne";
  CHECK(process(caption, {}) == "a, b");
  CHECK(process(caption, {.caption_prefix = "x", .caption_lines = CaptionLines::First}) == "x a, b");
  CHECK(process(caption, {.caption_lines = CaptionLines::Join}) == "a, b, c, d, e");
  CHECK(process(caption, {.caption_prefix = "x", .caption_suffix = "y", .caption_lines = CaptionLines::Join}) ==
        "x a, b, c, d, e y");
  std::set<std::string> seen;
  for (uint64_t sample = 0; sample < 60; ++sample) {
    StreamCaptionRandom random(3, 1, sample);
    seen.insert(
        process_caption(caption, {.caption_prefix = "x", .caption_lines = CaptionLines::Random}, {}, {}, random));
  }
  CHECK(seen == std::set<std::string>{"x a, b", "x c, d,", "x e"});
  CHECK(varying_caption_options({.caption_lines = CaptionLines::Random}) == std::vector<std::string>{"caption_lines"});
  CHECK_FALSE(uses_all_lines({}));
  CHECK(uses_all_lines({.enable_wildcard = true}));
  CHECK(uses_all_lines({.caption_lines = CaptionLines::Join}));
  CHECK_FALSE(uses_all_lines({.enable_wildcard = true, .caption_lines = CaptionLines::First}));
}

}  // namespace
}  // namespace cinnabar::data
