#include <doctest/doctest.h>

#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/source.h"
#include "formats/temporary_folder.h"

namespace cinnabar::schema {

namespace {

// Rows that registries bring to the real schema.
Schema schema_with_noise() {
  Schema schema = train_schema();
  schema.add(Option{.name = "noise_offset", .type = Type::Float});
  schema.add(Option{.name = "multires_noise_iterations", .type = Type::Int});
  schema.add(Option{.name = "min_snr_gamma", .type = Type::Float});
  return schema;
}

struct Import {
  explicit Import(const std::string& json) { read_kohya_json(schema_with_noise(), json, "gui.json", source, problems); }
  Value value(const std::string& name) const {
    const auto found = source.values.find(name);
    return found == source.values.end() ? Value{} : found->second.value;
  }
  std::string action(const std::string& key) const {
    for (const ImportedKey& entry : source.report) {
      if (entry.key == key) return entry.action;
    }
    return "not reported";
  }
  Source source;
  Problems problems;
};

TEST_CASE("renames_keys_and_reads_numbers_that_are_text") {
  const Import read(
      "{\"LoRA_type\": \"Standard\", \"max_resolution\": \"512,768\", \"optimizer\": \"AdamW\", \"keep_tokens\": "
      "\"2\", "
      "\"seed\": \"1234\", \"sdxl_no_half_vae\": true}");
  CHECK(read.value("resolution") == Value("512,768"));
  CHECK(read.value("optimizer_type") == Value("AdamW"));
  CHECK(read.value("keep_tokens") == Value(2));
  CHECK(read.value("seed") == Value(1234));
  CHECK(read.value("no_half_vae") == Value(true));
  CHECK(read.value("network_module") == Value("networks.lora"));
  CHECK(read.action("max_resolution") == "renamed");
  CHECK(read.action("seed") == "used");
}

TEST_CASE("bucket_steps_finer_than_latents_become_64") {
  const Import read("{\"LoRA_type\": \"Standard\", \"bucket_reso_steps\": 1.0}");
  CHECK(read.value("bucket_reso_steps") == Value(64));
  CHECK(read.action("bucket_reso_steps") == "derived");
  CHECK(Import("{\"LoRA_type\": \"Standard\", \"bucket_reso_steps\": 32}").value("bucket_reso_steps") == Value(32));
}

TEST_CASE("zeros_and_empty_texts_are_unset_as_in_the_gui") {
  const Import read(
      "{\"LoRA_type\": \"Standard\", \"max_grad_norm\": 0, \"min_snr_gamma\": 0, \"vae\": \"\", \"flip_aug\": false}");
  for (const char* name : {"max_grad_norm", "min_snr_gamma", "vae", "flip_aug"}) {
    CHECK(read.value(name).index() == 0);
    CHECK(read.action(name) == "unset");
  }
}

TEST_CASE("a_rate_of_zero_chooses_what_is_trained") {
  const Import unet_only("{\"LoRA_type\": \"Standard\", \"text_encoder_lr\": 0, \"unet_lr\": 0.0001}");
  CHECK(unet_only.value("network_train_unet_only") == Value(true));
  CHECK(unet_only.value("text_encoder_lr").index() == 0);
  const Import text_only("{\"LoRA_type\": \"Standard\", \"text_encoder_lr\": 5e-5, \"unet_lr\": 0}");
  CHECK(text_only.value("network_train_text_encoder_only") == Value(true));
  CHECK(text_only.value("text_encoder_lr") == Value(std::vector<double>{5e-5}));
  const Import nothing("{\"LoRA_type\": \"Standard\", \"text_encoder_lr\": 0, \"unet_lr\": 0, \"learning_rate\": 0}");
  CHECK(nothing.problems.list().size() == 1);
}

TEST_CASE("the_type_of_network_decides_about_its_arguments") {
  const std::string rest = "\"conv_dim\": 8, \"conv_alpha\": 4, \"rank_dropout\": 0.1, \"module_dropout\": 0}";
  const Import plain("{\"LoRA_type\": \"Standard\", " + rest);
  CHECK(plain.value("network_args") == Value(std::vector<std::string>{"rank_dropout=0.1"}));
  CHECK(plain.action("conv_dim") == "ignored");
  const Import locon("{\"LoRA_type\": \"Kohya LoCon\", " + rest);
  CHECK(locon.value("network_args") ==
        Value(std::vector<std::string>{"conv_dim=8", "conv_alpha=4", "rank_dropout=0.1"}));
  const Import lokr(
      "{\"LoRA_type\": \"LyCORIS/LoKr\", \"LyCORIS_preset\": \"full\", \"factor\": -1, \"use_cp\": true, \"conv_dim\": "
      "8}");
  CHECK(lokr.value("network_module") == Value("lycoris.kohya"));
  CHECK(lokr.value("network_args") ==
        Value(std::vector<std::string>{"algo=lokr", "preset=full", "use_tucker=True", "conv_dim=8"}));
  CHECK_FALSE(Import("{\"LoRA_type\": \"Quantum\"}").problems.empty());
}

TEST_CASE("warm_up_is_a_percentage_or_a_count") {
  CHECK(Import("{\"LoRA_type\": \"Standard\", \"lr_warmup\": 10}").value("lr_warmup_steps") == Value(0.1));
  CHECK(Import("{\"LoRA_type\": \"Standard\", \"lr_warmup\": 10, \"lr_warmup_steps\": 50}").value("lr_warmup_steps") ==
        Value(50));
  CHECK(
      Import(
          "{\"LoRA_type\": \"Standard\", \"lr_warmup\": 10, \"dataset_config\": \"d.toml\", \"max_train_steps\": 255}")
          .value("lr_warmup_steps") == Value(26));
  CHECK(Import("{\"LoRA_type\": \"Standard\", \"lr_warmup\": 0}").value("lr_warmup_steps").index() == 0);
}

TEST_CASE("the_kind_of_noise_hides_the_other_kind") {
  const std::string rest = "\"noise_offset\": 0.05, \"multires_noise_iterations\": 8}";
  const Import plain("{\"LoRA_type\": \"Standard\", \"noise_offset_type\": \"Original\", " + rest);
  CHECK(plain.value("noise_offset") == Value(0.05));
  CHECK(plain.value("multires_noise_iterations").index() == 0);
  const Import pyramid("{\"LoRA_type\": \"Standard\", \"noise_offset_type\": \"Multires\", " + rest);
  CHECK(pyramid.value("noise_offset").index() == 0);
  CHECK(pyramid.value("multires_noise_iterations") == Value(8));
}

TEST_CASE("missing_keys_take_the_defaults_of_the_gui_and_say_so") {
  const Import read("{\"LoRA_type\": \"Standard\"}");
  CHECK(read.value("caption_extension") == Value(".txt"));
  CHECK(read.value("network_dim") == Value(8));
  REQUIRE(read.source.notices.size() == 1);
  CHECK(read.source.notices[0].find("caption_extension") != std::string::npos);
  CHECK(read.source.report.size() == 1);  // LoRA_type alone: the file has no other key
}

TEST_CASE("counts_steps_as_the_gui_does_when_none_are_given") {
  const formats::TemporaryFolder folder;
  for (const char* name :
       {"img/3_cat/a.png", "img/3_cat/b.JPG", "img/3_cat/b.txt", "img/2_dog/c.webp", "img/notes/d.png"}) {
    folder.put(name, "x");
  }
  const std::string start =
      "{\"LoRA_type\": \"Standard\", \"max_train_steps\": 0, \"train_batch_size\": 2, \"epoch\": 3, "
      "\"train_data_dir\": \"" +
      (folder / "img").string() + "\"";
  const auto steps = [](const Import& read) {
    Problems problems;
    return resolve(schema_with_noise(), "train", {read.source}, problems).values.integer("max_train_steps");
  };
  // (2 pictures x 3 + 1 x 2) / 2 x 3 epochs; doubled with regularisation pictures.
  CHECK(steps(Import(start + "}")) == 12);
  CHECK(steps(Import(start + ", \"reg_data_dir\": \"reg\"}")) == 24);
}

TEST_CASE("unknown_keys_are_reported_and_others_of_other_families_ignored") {
  const Import read(
      "{\"LoRA_type\": \"Standard\", \"sedd\": 3, \"flux1_clip_l\": \"x\", \"guidance_scale\": 2.5, \"lowvram\": "
      "true}");
  CHECK(read.action("sedd") == "unknown");
  CHECK(read.source.notices.back().find("did you mean seed") != std::string::npos);
  CHECK(read.action("flux1_clip_l") == "ignored");
  CHECK(read.action("guidance_scale") == "ignored");
  CHECK(read.action("lowvram") == "ignored");
  CHECK(read.source.planned.empty());
  CHECK(read.problems.empty());
}

TEST_CASE("other_trackers_do_not_stop_a_run") {
  const Import read("{\"LoRA_type\": \"Standard\", \"log_with\": \"wandb\", \"use_wandb\": true}");
  CHECK(read.action("log_with") == "later");
  CHECK(read.action("use_wandb") == "ignored");
  CHECK(read.value("log_with").index() == 0);
}

TEST_CASE("additional_parameters_are_a_command_line") {
  const Import read(
      "{\"LoRA_type\": \"Standard\", \"additional_parameters\": \"--flip_aug  --network_dim \\\"4\\\"\"}");
  CHECK(read.source.more_arguments == std::vector<std::string>{"--flip_aug", "--network_dim", "4"});
}

TEST_CASE("prompts_of_the_text_box_become_an_attachment") {
  const Import read(
      "{\"LoRA_type\": \"Standard\", \"sample_prompts\": \"a cat --w 512\\na dog\", \"sample_every_n_steps\": 10}");
  CHECK(read.source.attachments.at("sample_prompts") == "a cat --w 512\na dog");
  CHECK(read.value("sample_prompts").index() == 0);
}

TEST_CASE("tokens_are_never_shown") {
  const Import read(
      "{\"LoRA_type\": \"Standard\", \"huggingface_token\": \"hf_secret\", \"wandb_api_key\": \"secret\"}");
  for (const ImportedKey& entry : read.source.report) CHECK(entry.value.find("secret") == std::string::npos);
  for (const auto& [name, given] : read.source.planned) CHECK(given.text == "[hidden]");
}

}  // namespace

}  // namespace cinnabar::schema
