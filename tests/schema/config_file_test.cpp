#include <doctest/doctest.h>

#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/source.h"
#include "formats/temporary_folder.h"

namespace cinnabar::schema {

namespace {

struct ReadToml {
  explicit ReadToml(const std::string& text) { read_toml(train_schema(), text, "train.toml", source, problems); }
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

TEST_CASE("toml_flattens_one_level_of_sections_and_keeps_types") {
  const ReadToml read(
      "seed = 42\n[model]\nclip_skip = 2\n[network]\nnetwork_alpha = 16\nnetwork_args = [\"conv_dim=8\"]\n"
      "[rates]\nlr_warmup_steps = 0.1\ntext_encoder_lr = 5e-5\nresolution = [512, 768]\nflip_aug = true\n");
  CHECK(read.problems.empty());
  CHECK(read.value("seed") == Value(42));
  CHECK(read.value("clip_skip") == Value(2));
  // The metadata of files shows whether a number was written whole.
  CHECK(read.value("network_alpha") == Value(16));
  CHECK(ReadToml("network_alpha = 16.0").value("network_alpha") == Value(16.0));
  CHECK(read.value("network_args") == Value(std::vector<std::string>{"conv_dim=8"}));
  CHECK(read.value("lr_warmup_steps") == Value(0.1));
  CHECK(read.value("text_encoder_lr") == Value(std::vector<double>{5e-5}));
  CHECK(read.value("resolution") == Value("512,768"));
  CHECK(read.value("flip_aug") == Value(true));
}

TEST_CASE("toml_warm_up_is_a_count_when_whole_and_a_share_otherwise") {
  CHECK(ReadToml("lr_warmup_steps = 100").value("lr_warmup_steps") == Value(100));
  // The reference would take 100 times all steps; that is never meant.
  CHECK(ReadToml("lr_warmup_steps = 100.0").problems.list().size() == 1);
  CHECK(ReadToml("lr_warmup_steps = \"10%\"").value("lr_warmup_steps") == Value(0.1));
}

TEST_CASE("toml_problems_name_the_line") {
  CHECK(ReadToml("seed = 1\n\nnetwork_dim = \"abc\"\n").problem() ==
        "train.toml:3: network_dim = abc: expected a whole number from 1 to 4096");
  CHECK(ReadToml("[a]\nnetwrok_dim = 3\n").problem() ==
        "train.toml:2: netwrok_dim = 3: unknown option; did you mean network_dim?");
  CHECK(ReadToml("flip_aug = \"maybe\"").problem() == "train.toml:1: flip_aug = maybe: expected true or false");
  CHECK_THROWS_WITH(ReadToml("seed = = 3"), doctest::Contains("train.toml:1: not valid TOML"));
}

TEST_CASE("letters_behind_a_broken_line_of_a_long_text_are_kept") {
  for (const std::string letter : {"x", "\u00e9", "\u0416", "\u05d0", "\u2013", "\u30ab", "\u732b", "\U0001f431"}) {
    CAPTURE(letter);
    CHECK(ReadToml("training_comment = \"\"\"a \\\n  " + letter + "b\"\"\"").value("training_comment") ==
          Value("a " + letter + "b"));
  }
  CHECK_THROWS_WITH(ReadToml("training_comment = \"\"\"a\\\u00e9\"\"\""),
                    doctest::Contains("train.toml:1: not valid TOML"));
}

TEST_CASE("keys_that_the_gui_leaves_in_its_toml_are_no_problem") {
  CHECK(ReadToml("epoch = 4\nnoise_offset_type = \"Original\"\ntrain_inpainting = false\n").problems.empty());
}

TEST_CASE("a_data_set_description_is_recognised") {
  CHECK(ReadToml("[general]\nresolution = 512\n[[datasets]]\n").problem() ==
        "train.toml: this describes a data set, not a run: a file of that kind is what dataset_config takes");
}

TEST_CASE("adds_the_extension_and_tells_the_kinds_of_files_apart") {
  const formats::TemporaryFolder folder;
  folder.put("train.toml", "network_dim = 8\n");
  folder.put("own.json", "{\"cinnabar_config\": 1, \"command\": \"train\", \"values\": {\"network_dim\": 9}}");
  folder.put("gui.json", "{\"network_dim\": 10, \"LoRA_type\": \"Standard\"}");
  Problems problems;
  CHECK(read_config_file(train_schema(), folder / "train", problems).values.at("network_dim").value == Value(8));
  CHECK(read_config_file(train_schema(), folder / "own.json", problems).values.at("network_dim").value == Value(9));
  const Source gui = read_config_file(train_schema(), folder / "gui.json", problems);
  CHECK(gui.values.at("network_dim").value == Value(10));
  CHECK(gui.is_gui_file);
  CHECK(problems.empty());
  CHECK_THROWS_WITH(read_config_file(train_schema(), folder / "none", problems), doctest::Contains("no such file"));
}

}  // namespace

}  // namespace cinnabar::schema
