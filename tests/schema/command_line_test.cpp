#include <doctest/doctest.h>

#include "cinnabar/schema/source.h"

namespace cinnabar::schema {

namespace {

Schema small_schema() {
  return Schema({{{.name = "config_file", .type = Type::Path, .is_positional = true},
                  {.name = "network_dim", .aliases = {"rank"}, .type = Type::Int},
                  {.name = "flip_aug", .type = Type::Flag},
                  {.name = "prompt", .type = Type::Text},
                  {.name = "scale", .type = Type::Float},
                  {.name = "network_args", .type = Type::TextList},
                  {.name = "lora", .type = Type::TextList, .is_repeatable = true}}});
}

struct Read {
  explicit Read(const std::vector<std::string>& words) {
    read_command_line(small_schema(), words, "command line", source, problems);
  }
  Value value(const std::string& name) const {
    const auto found = source.values.find(name);
    return found == source.values.end() ? Value{} : found->second.value;
  }
  std::string problem() const {
    return problems.list().size() == 1 ? to_string(problems.list()[0]) : "not one problem";
  }
  Source source;
  Problems problems;
};

TEST_CASE("accepts_spaces_equal_signs_hyphens_and_aliases") {
  CHECK(Read({"--network_dim", "8"}).value("network_dim") == Value(8));
  CHECK(Read({"--network-dim=8"}).value("network_dim") == Value(8));
  CHECK(Read({"--rank", "8"}).value("network_dim") == Value(8));
  CHECK(Read({"--prompt=--n ugly --w 512"}).value("prompt") == Value("--n ugly --w 512"));
}

TEST_CASE("flags_stand_alone_and_can_be_unset") {
  CHECK(Read({"--flip_aug"}).value("flip_aug") == Value(true));
  CHECK(Read({"--flip_aug=false"}).value("flip_aug") == Value(false));
  const Read read({"--flip_aug", "train.toml"});
  CHECK(read.value("flip_aug") == Value(true));
  CHECK(read.value("config_file") == Value("train.toml"));
}

TEST_CASE("a_positional_list_takes_all_words_that_are_left") {
  const Schema schema({{{.name = "action", .type = Type::Text, .is_positional = true},
                        {.name = "run", .type = Type::TextList, .is_positional = true},
                        {.name = "json", .type = Type::Flag}}});
  Source source;
  Problems problems;
  read_command_line(schema, {"rename", "--json", "dog", "my dog"}, "command line", source, problems);
  CHECK(problems.empty());
  CHECK(source.values.at("action").value == Value("rename"));
  CHECK(source.values.at("run").value == Value(std::vector<std::string>{"dog", "my dog"}));
}

TEST_CASE("negative_numbers_are_values") { CHECK(Read({"--scale", "-1.5"}).value("scale") == Value(-1.5)); }

TEST_CASE("lists_end_at_the_next_option") {
  const Read read({"--network_args", "conv_dim=4", "conv_alpha=1", "--flip_aug"});
  CHECK(read.value("network_args") == Value(std::vector<std::string>{"conv_dim=4", "conv_alpha=1"}));
  CHECK(read.value("flip_aug") == Value(true));
}

TEST_CASE("the_last_of_two_counts_but_repeatable_lists_add_up") {
  CHECK(Read({"--rank", "4", "--network_dim", "8"}).value("network_dim") == Value(8));
  CHECK(Read({"--network_args", "a=1", "--network_args", "b=2"}).value("network_args") ==
        Value(std::vector<std::string>{"b=2"}));
  CHECK(Read({"--lora", "a", "--lora", "b"}).value("lora") == Value(std::vector<std::string>{"a", "b"}));
}

TEST_CASE("names_what_is_wrong") {
  CHECK(Read({"--netwrok_dim", "8"}).problem() ==
        "command line: --netwrok_dim: unknown option; did you mean network_dim?");
  CHECK(Read({"--network_dim", "x"}).problem() == "command line: network_dim = x: expected a whole number");
  CHECK(Read({"--network_dim"}).problem() ==
        "command line: --network_dim: a value must follow: expected a whole number");
  CHECK(Read({"--network_dim", "--flip_aug"}).problem() ==
        "command line: --network_dim: a value must follow: expected a whole number");
  CHECK(Read({"--flip_aug", "true"}).problem() ==
        "command line: --flip_aug true: a switch stands alone: --flip_aug turns it on, --flip_aug=false off");
  CHECK(Read({"--flip_aug", "False"}).problems.list().size() == 1);
  CHECK(Read({"--lora_multiplier", "0.5"}).problem() ==
        "command line: --lora_multiplier: unknown option; did you mean lora?");
  CHECK(Read({"a.toml", "b.toml"}).problem() ==
        "command line: b.toml: not expected here: options are written --NAME VALUE");
}

TEST_CASE("options_that_are_not_built_yet_are_kept_apart") {
  const Read read({"--train_inpainting", "--blocks_to_swap", "10"});
  CHECK(read.problems.empty());
  CHECK(read.source.planned.at("train_inpainting").text == "true");
  CHECK(read.source.planned.at("blocks_to_swap").text == "10");
}

}  // namespace

}  // namespace cinnabar::schema
