#include "cinnabar/sample/lora_tags.h"

#include <doctest/doctest.h>

namespace {

using namespace cinnabar::sample;

std::string without_tags(std::string text) {
  take_lora_tags(text);
  return text;
}

Prompt applied(const std::string& text, const std::vector<std::string>& names, std::vector<std::string>& notes) {
  std::vector<Prompt> prompts{{.prompt = text}};
  apply_lora_tags(prompts, names, notes);
  return prompts.front();
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("tags_leave_the_prompt_with_one_of_the_blanks_around_them") {
  CHECK(without_tags("green cube <lora:cc:1>") == "green cube");
  CHECK(without_tags("<lora:cc:1> green cube") == "green cube");
  CHECK(without_tags("green <lyco:cc:0.5> cube") == "green cube");
  CHECK(without_tags("green<lora:cc>cube") == "greencube");
  CHECK(without_tags("<lora:a:1>") == "");
  CHECK(without_tags("a <lora:a:1> <lora:b:1>") == "a");
}

TEST_CASE("what_is_no_tag_stays_text") {
  for (const char* text : {"a <b> c", "<lora:cc", "<3 hearts", "a < b", "<loraine:1>", "<"})
    CHECK(without_tags(text) == text);
}

TEST_CASE("a_tag_sets_the_weight_of_the_file_of_its_name_for_its_prompt") {
  std::vector<std::string> notes;
  const std::vector<std::string> names{"dog", "cat", "dog"};
  CHECK(applied("x <lora:cat:0.8>", names, notes).lora_weights == std::map<size_t, double>{{1, 0.8}});
  CHECK(applied("x <lora:dog>", names, notes).lora_weights == std::map<size_t, double>{{0, 1.0}, {2, 1.0}});
  CHECK(applied("x <lora:cat.safetensors:-0.5>", names, notes).lora_weights.at(1) == -0.5);
  CHECK(applied("x", names, notes).lora_weights.empty());
  CHECK(notes.empty());
}

TEST_CASE("a_tag_without_its_file_is_told_once_and_names_the_option") {
  std::vector<std::string> notes;
  std::vector<Prompt> prompts{{.prompt = "a <lora:cc:1>"}, {.prompt = "b <lora:cc:1>"}};
  apply_lora_tags(prompts, {"dog"}, notes);
  CHECK(prompts[1].prompt == "b");
  REQUIRE(notes.size() == 1);
  CHECK(holds(notes[0], "<lora:cc:1> is left out"));
  CHECK(holds(notes[0], "--lora cc.safetensors"));
}

TEST_CASE("odd_weights_other_kinds_and_negative_prompts_are_told") {
  std::vector<std::string> notes;
  CHECK(applied("x <lora:cat:strong>", {"cat"}, notes).lora_weights.at(0) == 1.0);
  CHECK(applied("x <lora:cat:0.3:0.7>", {"cat"}, notes).lora_weights.at(0) == 0.3);
  CHECK(applied("x <hypernet:cat:1>", {"cat"}, notes).lora_weights.empty());
  std::vector<Prompt> prompts{{.prompt = "x", .negative_prompt = "bad <lora:cat:1>"}};
  apply_lora_tags(prompts, {"cat"}, notes);
  CHECK(prompts[0].negative_prompt == "bad");
  REQUIRE(notes.size() == 4);
  CHECK(holds(notes[0], "\"strong\" is not one number; 1 is taken"));
  CHECK(holds(notes[1], "the first one counts"));
  CHECK(holds(notes[2], "hypernetworks are not supported"));
  CHECK(holds(notes[3], "in a negative prompt has no effect"));
}

TEST_CASE("pictures_of_a_training_take_no_other_network") {
  std::vector<Prompt> prompts{{.prompt = "x <lora:cat:1>"}};
  std::vector<std::string> notes;
  drop_lora_tags(prompts, notes);
  CHECK(prompts[0].prompt == "x");
  CHECK(prompts[0].lora_weights.empty());
  REQUIRE(notes.size() == 1);
  CHECK(holds(notes[0], "the network under training"));
}
