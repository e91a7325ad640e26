#include "cinnabar/sample/prompt_file.h"

#include <doctest/doctest.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "sample/tiny_model.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::sample;

Prompt parsed(const std::string& line, size_t expected_notes = 0) {
  std::vector<std::string> notes;
  const auto prompt = parse_prompt_line(line, "here", notes);
  for (const std::string& note : notes) CAPTURE(note);
  CHECK(notes.size() == expected_notes);
  REQUIRE(prompt.has_value());
  return *prompt;
}

// What a line of a file gives: the only note of it, with file and line in front.
std::string note_of(const std::string& line) {
  std::vector<std::string> notes;
  parse_prompt_line(line, "prompts.txt:3", notes);
  REQUIRE(notes.size() == 1);
  return notes.front();
}

PromptList read(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  base::write_file(folder.path / name, text);
  return read_prompt_file(folder.path / name);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a_line_carries_all_flags") {
  const Prompt prompt = parsed("a cat, well-made --n bad, worse --w 640 --h 512 --d 42 --s 28 --l 6.5 --ss euler_a");
  CHECK(prompt.prompt == "a cat, well-made");
  CHECK(prompt.negative_prompt == "bad, worse");
  CHECK(prompt.width_px == 640);
  CHECK(prompt.height_px == 512);
  CHECK(prompt.seed == 42);
  CHECK(prompt.steps == 28);
  CHECK(prompt.scale == 6.5);
  CHECK(prompt.sampler == "euler_a");
}

TEST_CASE("flags_are_found_in_any_case_and_a_plain_prompt_has_none") {
  CHECK(parsed("a cat --W 64 --SS DDIM").sampler == "ddim");
  const Prompt plain = parsed("n 5 dogs and a self-portrait--no flags here");
  CHECK(plain.prompt == "n 5 dogs and a self-portrait--no flags here");
  CHECK_FALSE(plain.negative_prompt.has_value());
}

TEST_CASE("mistakes_leave_the_setting_out_and_are_told") {
  CHECK_FALSE(parsed("a --w wide", 1).width_px.has_value());
  CHECK_FALSE(parsed("a --w 99999", 1).width_px.has_value());
  CHECK_FALSE(parsed("a --d 1e99x --l -3", 1 + 1).scale.has_value());
  CHECK(parsed("a --w 512px", 1).width_px == 512);
  CHECK(parsed("a --w 512 --w 640", 1).width_px == 640);
  CHECK(parsed("a --s 5000", 1).steps == 1000);
  CHECK(parsed("a --ss oiler", 1).sampler == "ddim");
  CHECK(parsed("a --zz 3", 1).prompt == "a");
  CHECK(parsed("a --cn depth.png", 1).prompt == "a");
  CHECK(parsed("a --w", 1).prompt == "a");
  CHECK_FALSE(parsed("a --d -1", 1).seed.has_value());
}

TEST_CASE("sizes_are_rounded_and_told") {
  const Prompt prompt = parsed("cat --w 511 --h 513", 2);
  CHECK(prompt.width_px == 504);
  CHECK(prompt.height_px == 512);
  CHECK(note_of("cat --w 511") == "prompts.txt:3: --w 511: rounded down to 504, a multiple of 8");
  CHECK(note_of("cat --h 513") == "prompts.txt:3: --h 513: rounded down to 512, a multiple of 8");
  CHECK(note_of("cat --w 20") == "prompts.txt:3: --w 20: taken as 64, the smallest size");
}

TEST_CASE("the_prompt_itself_is_never_a_flag") {
  for (const char* line : {"s 1 girl", "w 5 dogs", "n a negative mood", "d 5", "l 3 lamps", "g 2", "ss euler"}) {
    const Prompt prompt = parsed(line);
    CHECK(prompt.prompt == line);
    CHECK_FALSE(prompt.steps.has_value());
    CHECK_FALSE(prompt.width_px.has_value());
    CHECK_FALSE(prompt.negative_prompt.has_value());
    CHECK_FALSE(prompt.seed.has_value());
    CHECK_FALSE(prompt.scale.has_value());
    CHECK_FALSE(prompt.sampler.has_value());
  }
}

TEST_CASE("each_mistake_has_its_message") {
  CHECK(note_of("cat --d -1") ==
        "prompts.txt:3: --d -1: no seed; the prompt takes the seed that a prompt without one has");
  CHECK(note_of("cat --l 7,5") == "prompts.txt:3: --l 7,5: expected a point in numbers, 7.5; left out");
  CHECK(note_of("cat --n") == "prompts.txt:3: --n: the flag has no value; left out");
  CHECK(note_of("--w 512") == "prompts.txt:3: --w 512: there is no prompt before the flags; the line is left out");
  CHECK(note_of("cat --zz 3") ==
        "prompts.txt:3: --zz 3: no such flag, left out; known are --n, --w, --h, --d, --s, --l, --ss, --g, --cn, "
        "--ctr, --rcfg, --fs");
  CHECK(has(note_of("cat --s 2000"), "--s 2000: taken as 1000"));
  CHECK(has(note_of("cat --ss eular"), "no such sampler, ddim is taken; did you mean \"euler\"?"));
}

TEST_CASE("unknown_flags_come_with_a_suggestion") {
  CHECK(has(note_of("cat --seed 3"), "did you mean --d?"));
  CHECK(has(note_of("cat --Width 3"), "did you mean --w?"));
  CHECK(has(note_of("cat --cfg 3"), "did you mean --l?"));
  CHECK(has(note_of("cat --no text at all"), "did you mean --n?"));
  CHECK(has(note_of("cat --w512"), "did you mean --w 512?"));
  CHECK(has(note_of("cat --rcf 1"), "did you mean --rcfg?"));
  CHECK(has(note_of("cat --sample_steps 20"), "did you mean --s?"));
}

TEST_CASE("dashes_in_prose_stay_in_the_prompt_and_are_told") {
  CHECK(parsed("a cat -- a dog", 1).prompt == "a cat -- a dog");
  CHECK(parsed("a cat --- a dog --s 3", 1).prompt == "a cat --- a dog");
  CHECK(parsed("a cat --and a small dog --s 3", 1).prompt == "a cat --and a small dog");
  CHECK(parsed("a cat --and a small dog --s 3", 1).steps == 3);
  CHECK(parsed("a cat --n fog -- or rain", 1).negative_prompt == "fog -- or rain");
  CHECK(note_of("a cat -- a dog") == "prompts.txt:3: \" -- a dog\" is no flag and is kept as part of the prompt");
}

TEST_CASE("long_dashes_before_a_flag_are_told") {
  CHECK(has(note_of("a cat \u2014w 512"), "a long dash stands before \"w\""));
  CHECK(parsed("a cat \u2014 asleep").prompt == "a cat \u2014 asleep");
}

TEST_CASE("samplers_go_by_the_names_of_other_programs_too") {
  CHECK(parsed("a --ss K_EULER_A").sampler == "k_euler_a");
  CHECK(parsed("a --ss DPM++ 2M").sampler == "dpmsolver++");
  CHECK(parsed("a --ss Euler a").sampler == "euler_a");
}

TEST_CASE("a_line_without_a_prompt_is_left_out_and_the_others_are_read") {
  const PromptList list = read("prompts.txt", "--w 512\na cat\n");
  REQUIRE(list.prompts.size() == 1);
  CHECK(list.prompts[0].prompt == "a cat");
  REQUIRE(list.notes.size() == 1);
  CHECK(has(list.notes[0], "prompts.txt:1: "));
}

TEST_CASE("text_files_have_comments_blank_lines_and_line_numbers") {
  const PromptList list = read("prompts.txt", "\xEF\xBB\xBF# a comment\r\na cat --w 64\r\n\r\n  \n #1 dog --s x\nlast");
  REQUIRE(list.prompts.size() == 3);
  CHECK(list.prompts[0].prompt == "a cat");
  CHECK(list.prompts[0].width_px == 64);
  CHECK(list.prompts[1].prompt == "#1 dog");
  CHECK(list.prompts[2].prompt == "last");
  REQUIRE(list.notes.size() == 1);
  CHECK(has(list.notes[0], "prompts.txt:5: --s x"));
}

TEST_CASE("bytes_that_are_no_utf8_are_replaced_and_told") {
  const PromptList list = read("prompts.txt", "caf\xE9\n");
  REQUIRE(list.prompts.size() == 1);
  CHECK(list.prompts[0].prompt == "caf\xEF\xBF\xBD");
  REQUIRE(list.notes.size() == 1);
  CHECK(has(list.notes[0], "byte 3 is not UTF-8"));
}

TEST_CASE("toml_subsets_take_what_stands_in_the_prompt_table") {
  const PromptList list = read("p.toml",
                               "[prompt]\nwidth = 640\nscale = 5\nseed = 1\n"
                               "[[prompt.subset]]\nprompt = \"a cat\"\nsample_steps = 12\n"
                               "[[prompt.subset]]\nprompt = \"a dog\"\nseed = 9\nsample_sampler = \"euler\"\n");
  REQUIRE(list.prompts.size() == 2);
  CHECK(list.prompts[0].prompt == "a cat");
  CHECK(list.prompts[0].width_px == 640);
  CHECK(list.prompts[0].scale == 5.0);
  CHECK(list.prompts[0].steps == 12);
  CHECK(list.prompts[0].seed == 1);
  CHECK(list.prompts[1].seed == 9);
  CHECK(list.prompts[1].sampler == "euler");
  REQUIRE(list.notes.size() == 1);  // seed stands twice
  CHECK(has(list.notes[0], "p.toml:10: seed"));
}

TEST_CASE("toml_mistakes_name_their_line") {
  PromptList list = read("p.toml", "[prompt]\nprompt = \"a cat\"\nwidht = 3\n");
  CHECK(list.prompts.size() == 1);
  REQUIRE(list.notes.size() == 1);
  CHECK(has(list.notes[0], "p.toml:3: widht = 3: no such key"));
  list = read("p.toml", "[prompt]\nprompt = a cat\n");
  CHECK(list.prompts.empty());
  CHECK(has(list.notes.back(), "p.toml:2: "));
  list = read("p.toml", "prompt = 3\n");
  CHECK(list.prompts.empty());
  list = read("p.toml", "[[prompt.subset]]\nseed = 3\n");
  CHECK(list.prompts.empty());
  CHECK(has(list.notes.back(), "p.toml:1: "));
}

TEST_CASE("json_lists_hold_objects_and_lines") {
  const PromptList list =
      read("p.json",
           R"([{"prompt": "a cat", "negative_prompt": "fog", "width": 96, "scale": 2.5, "seed": null,
                                    "enum": 0}, "a dog --d 4", 7, {"seed": 1}])");
  REQUIRE(list.prompts.size() == 2);
  CHECK(list.prompts[0].negative_prompt == "fog");
  CHECK(list.prompts[0].width_px == 96);
  CHECK(list.prompts[0].scale == 2.5);
  CHECK(list.prompts[1].seed == 4);
  REQUIRE(list.notes.size() == 2);
  CHECK(has(list.notes[0], "p.json:2, entry 3"));
  CHECK(has(list.notes[1], "p.json:2, entry 4"));
}

TEST_CASE("one_object_in_place_of_a_list_is_read_and_told") {
  const PromptList list = read("p.json", "{\"prompt\": \"a cat\", \"width\": 96, \"widht\": 3}\n");
  REQUIRE(list.prompts.size() == 1);
  CHECK(list.prompts[0].prompt == "a cat");
  CHECK(list.prompts[0].width_px == 96);
  REQUIRE(list.notes.size() == 2);
  CHECK(has(list.notes[0], "p.json: widht = 3: no such key"));
  CHECK(has(list.notes[1], "p.json: one prompt without its list"));
}

TEST_CASE("broken_json_and_empty_files_give_no_prompts_and_say_so") {
  CHECK(has(read("p.json", "[{\"prompt\": }]").notes.back(), "p.json:1: not valid JSON, at column 13"));
  CHECK(has(read("p.json", "{}").notes.back(), "this is one object without a key \"prompt\"; expected a list"));
  CHECK(has(read("p.json", "\"a cat\"").notes.back(), "this is a string; expected a list"));
  CHECK(has(read("p.json", std::string(100000, '[')).notes.back(), "nest deeper than 64"));
  CHECK(has(read("p.txt", "# nothing\n").notes.back(), "no prompt"));
}

TEST_CASE("a_missing_file_is_an_error") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(read_prompt_file(folder.path / "none.txt"), base::Error);
}

TEST_CASE("prompts_take_the_defaults_where_they_say_nothing") {
  const SampleRequest defaults{.negative_prompt = "fog", .width_px = 320, .steps = 7, .seed = 5, .sampler = "euler"};
  const SampleRequest request = request_of({.prompt = "a cat", .height_px = 64, .seed = 6}, defaults);
  CHECK(request.prompt == "a cat");
  CHECK(request.negative_prompt == "fog");
  CHECK(request.width_px == 320);
  CHECK(request.height_px == 64);
  CHECK(request.steps == 7);
  CHECK(request.scale == 7.5);
  CHECK(request.seed == 6);
  CHECK(request.sampler == "euler");
}
