#include "cinnabar/schema/resolve.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/schema/config_text.h"
#include "cinnabar/schema/option_groups.h"
#include "formats/temporary_folder.h"

namespace cinnabar::schema {

namespace {

Schema schema_with_optimizer() {
  Schema schema = train_schema();
  schema.add(EntryTable{.kind = "optimizer",
                        .selector = "optimizer_type",
                        .arguments = "optimizer_args",
                        .ignores_case = true,
                        .entries = {{.name = "AdamW",
                                     .help = "Adam.",
                                     .options = {{.name = "weight_decay", .type = Type::Float, .fallback = 0.01}}}}});
  return schema;
}

Config resolved(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"--pretrained_model_name_or_path", "embedded", "--train_data_dir", "/"};
  all.insert(all.end(), words.begin(), words.end());
  return read_config(schema_with_optimizer(), "train", all);
}

std::string error_of(const std::vector<std::string>& words) {
  try {
    resolved(words);
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ErrorCode::Config);
    return error.message();
  }
  return "no error";
}

TEST_CASE("command_line_counts_over_the_file_and_the_file_over_defaults") {
  const formats::TemporaryFolder folder;
  const std::string file = folder.put("train.toml", "network_dim = 16\nseed = 3\n").string();
  const Config config = resolved({"--config_file", file, "--network_dim", "8"});
  CHECK(config.values.integer("network_dim") == 8);
  CHECK(config.values.integer("seed") == 3);
  CHECK(config.values.integer("max_bucket_reso") == 1024);
  CHECK(config.origins.at("seed") == "train.toml:2");
  CHECK(config.origins.at("network_dim") == "command line");
  CHECK_FALSE(config.origins.contains("max_bucket_reso"));
}

TEST_CASE("words_inside_a_gui_file_stand_between_file_and_command_line") {
  const formats::TemporaryFolder folder;
  const std::string file =
      folder
          .put("gui.json",
               "{\"LoRA_type\": \"Standard\", \"network_dim\": 16, \"seed\": 1, \"optimizer\": \"AdamW\", "
               "\"lr_scheduler\": \"constant\", \"lr_warmup\": 0, \"mixed_precision\": \"no\", "
               "\"additional_parameters\": \"--network_dim 4 --seed 2\"}")
          .string();
  const Config config = resolved({file, "--seed", "3"});
  CHECK(config.values.integer("network_dim") == 4);
  CHECK(config.values.integer("seed") == 3);
}

TEST_CASE("all_problems_are_reported_at_once") {
  const std::string error = error_of({"--network_dim", "0", "--netwrok_alpha", "1", "--optimizer_type", "AdamX",
                                      "--mixed_precision", "fp17", "--train_inpainting"});
  for (const char* part : {"5 problems", "network_dim = 0: expected a whole number from 1 to 4096",
                           "did you mean network_alpha?", "did you mean AdamW?", "fp17: expected one of no, fp16, bf16",
                           "train_inpainting = true: not supported yet (inpainting)"}) {
    CHECK_MESSAGE(error.find(part) != std::string::npos, part, " is missing in\n", error);
  }
}

TEST_CASE("keys_of_argument_lists_are_checked_against_the_chosen_entry") {
  CHECK(resolved({"--optimizer_args", "weight_decay=0.1"}).values.texts("optimizer_args").size() == 1);
  CHECK(error_of({"--optimizer_args", "weight_decya=0.1"}).find("weight_decay") != std::string::npos);
  CHECK(error_of({"--optimizer_args", "weight_decay=much"}).find("expected a number") != std::string::npos);
  CHECK(resolved({"--optimizer_type", "adamw"}).values.text("optimizer_type") == "adamw");
}

TEST_CASE("values_of_the_reference_that_are_missing_here_are_named_as_such") {
  CHECK(error_of({"--optimizer_type", "AdEMAMix8bit"}).find("not supported yet") != std::string::npos);
  CHECK(error_of({"--mixed_precision", "fp8"}).find("not supported yet") != std::string::npos);
}

TEST_CASE("options_without_effect_give_a_notice_and_idle_ones_nothing") {
  const Config config =
      resolved({"--learning_rate", "1e-4", "--xformers", "--train_inpainting=false", "--guidance_scale", "3.5"});
  REQUIRE(config.notices.size() == 1);
  CHECK(config.notices[0].find("xformers has no effect") == 0);
}

TEST_CASE("what_options_demand_of_each_other") {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{"--enable_bucket", "--min_bucket_reso", "1024", "--max_bucket_reso", "512"},
       "larger than max_bucket_reso (512)"},
      {{"--enable_bucket", "--resolution", "2048"}, "larger than max_bucket_reso (1024)"},
      {{"--enable_bucket", "--resolution", "128"}, "smaller than min_bucket_reso (256)"},
      {{"--lr_scheduler", "constant", "--lr_warmup_steps", "10%"}, "constant_with_warmup"},
      {{"--dim_from_weights"}, "needs network_weights"},
      {{"--network_train_unet_only", "--network_train_text_encoder_only"}, "contradicts"},
      {{"--cache_text_encoder_outputs"}, "network_train_unet_only"},
      {{"--cache_text_encoder_outputs", "--network_train_unet_only", "--shuffle_caption"},
       "cannot change while training"},
  };
  for (const auto& [words, expected] : cases) {
    const std::string error = error_of(words);
    CHECK_MESSAGE(error.find(expected) != std::string::npos, expected, " is missing in\n", error);
  }
  CHECK_NOTHROW(resolved({"--enable_bucket", "--bucket_no_upscale", "--resolution", "2048"}));
}

TEST_CASE("paths_must_be_what_the_option_needs") {
  const formats::TemporaryFolder folder;
  const std::string file = folder.put("a.txt", "x").string();
  CHECK(error_of({"--train_data_dir", file}).find("this is a file; expected a folder") != std::string::npos);
  CHECK(error_of({"--vae", "/nowhere/vae.pt"}).find("no such file") != std::string::npos);
  CHECK(error_of({"--network_weights", "/"}).find("this is a folder; expected a file") != std::string::npos);
  CHECK(error_of({"--pretrained_model_name_or_path", "runwayml/stable-diffusion-v1-5"}).find("embedded") !=
        std::string::npos);
}

TEST_CASE("the_configuration_survives_writing_and_reading") {
  const Config config =
      resolved({"--network_alpha", "16", "--learning_rate", "1e-4", "--text_encoder_lr", "5e-5", "1e-5",
                "--network_args", "conv_dim=4", "--output_name", "a \"b\" \\ c", "--flip_aug"});
  const Config read = parse_config_json(config_json(schema_with_optimizer(), config));
  CHECK(read.command == "train");
  CHECK(read.values.raw("network_alpha") == Value(16.0));
  CHECK(read.values.raw("max_bucket_reso") == Value(1024));
  CHECK(read.values.raw("text_encoder_lr") == Value(std::vector<double>{5e-5, 1e-5}));
  CHECK(read.values.raw("network_args") == Value(std::vector<std::string>{"conv_dim=4"}));
  CHECK(read.values.text("output_name") == "a \"b\" \\ c");
  CHECK(read.values.flag("flip_aug"));
  // As TOML, read back by the same way in as a user's file.
  Source source;
  Problems problems;
  read_toml(schema_with_optimizer(), config_toml(schema_with_optimizer(), config), "written.toml", source, problems);
  CHECK(problems.empty());
  for (const auto& [name, value] : read.values.all()) CHECK_MESSAGE(source.values.at(name).value == value, name);
}

TEST_CASE("a_configuration_that_is_none_is_refused") {
  for (const char* text :
       {"", "{}", "[1]", "{\"cinnabar_config\": 2}", "{\"cinnabar_config\": 1, \"command\": 3, \"values\": {}}",
        "{\"cinnabar_config\": 1, \"command\": \"train\", \"values\": {\"a\": [1, \"x\"]}}"}) {
    CHECK_THROWS_AS(parse_config_json(text), base::Error);
  }
}

}  // namespace

}  // namespace cinnabar::schema
