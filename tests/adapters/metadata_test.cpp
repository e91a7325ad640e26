#include "cinnabar/adapters/metadata.h"

#include <doctest/doctest.h>

#include <fstream>

#include "cinnabar/base/sha256.h"

namespace {

using namespace cinnabar::adapters;
using cinnabar::schema::Values;

// A command line as users write it.
Values example_values() {
  Values values;
  values.set("network_module", std::string("networks.lora"));
  values.set("network_dim", int64_t{16});
  values.set("network_alpha", 8.0);
  values.set("learning_rate", 1e-4);
  values.set("text_encoder_lr", std::vector<double>{5e-5});
  values.set("train_batch_size", int64_t{2});
  values.set("lr_warmup_steps", 0.1);
  values.set("optimizer_type", std::string("AdamW"));
  values.set("optimizer_args", std::vector<std::string>{"weight_decay=0.1", "betas=0.9,0.99"});
  values.set("seed", int64_t{42});
  values.set("enable_bucket", true);
  values.set("output_name", std::string("cat"));
  return values;
}

TrainingFacts example_facts() {
  TrainingFacts facts{.session_id = 7, .started_at_s = 1718000000.25};
  facts.base_model_version = "sd_v1";
  facts.modelspec_architecture = "stable-diffusion-v1";
  facts.modelspec_implementation = "diffusers";
  facts.optimizer_class = "torch.optim.adamw.AdamW";
  DatasetFacts dataset{.batch_size = 2, .train_images = 120, .enable_bucket = true};
  dataset.buckets = {{512, 512, 0}, {448, 576, 80}, {576, 448, 40}};
  dataset.mean_aspect_error = 0.0125;
  dataset.subsets.push_back(
      {.name = "10_cat", .repeats = 10, .image_count = 12, .tags = {{"a cat", 12}, {"caf\xC3\xA9", 1}}});
  facts.datasets.push_back(dataset);
  facts.batches_per_epoch = 60;
  facts.epochs = 2;
  facts.max_train_steps = 120;
  return facts;
}

const SavePoint kSave{.finished_at_s = 1718000100.5, .steps = 120, .epoch = 2};

}  // namespace

TEST_CASE("metadata_of_a_command_line_run_equals_the_reference_tool_s") {
  const Metadata metadata = training_metadata(example_facts(), example_values(), kSave);
  const Metadata expected{
      {"ss_network_dim", "16"},
      {"ss_network_alpha", "8.0"},
      {"ss_learning_rate", "0.0001"},
      {"ss_text_encoder_lr", "5e-05"},
      {"ss_unet_lr", "None"},
      {"ss_resolution", "(512, 512)"},
      {"ss_batch_size_per_device", "2"},
      {"ss_total_batch_size", "2"},
      {"ss_lr_warmup_steps", "0.1"},
      {"ss_optimizer", "torch.optim.adamw.AdamW(weight_decay=0.1,betas=(0.9, 0.99))"},
      {"ss_seed", "42"},
      {"ss_max_grad_norm", "1.0"},
      {"ss_noise_offset", "None"},
      {"ss_multires_noise_discount", "0.3"},
      {"ss_keep_tokens", "0"},
      {"ss_min_bucket_reso", "256"},
      {"ss_enable_bucket", "True"},
      {"ss_dataset_dirs", R"({"10_cat": {"n_repeats": 10, "img_count": 12}})"},
      {"ss_reg_dataset_dirs", "{}"},
      {"ss_tag_frequency", R"({"10_cat": {"a cat": 12, "caf\u00e9": 1}})"},
      {"ss_bucket_info", R"({"buckets": {"1": {"resolution": [448, 576], "count": 80}, )"
                         R"("2": {"resolution": [576, 448], "count": 40}}, "mean_img_ar_error": 0.0125})"},
      {"ss_training_started_at", "1718000000.25"},
      {"ss_training_finished_at", "1718000100.5"},
      {"ss_steps", "120"},
      {"ss_epoch", "2"},
      {"ss_num_train_images", "120"},
      {"ss_num_batches_per_epoch", "60"},
      {"ss_base_model_version", "sd_v1"},
      {"ss_v2", "False"},
      {"modelspec.sai_model_spec", "1.0.1"},
      {"modelspec.architecture", "stable-diffusion-v1/lora"},
      {"modelspec.implementation", "diffusers"},
      {"modelspec.title", "cat"},
      {"modelspec.resolution", "512x512"},
      {"modelspec.prediction_type", "epsilon"},
  };
  for (const auto& [key, text] : expected) {
    const auto found = metadata.find(key);
    REQUIRE_MESSAGE(found != metadata.end(), key);
    CHECK_MESSAGE(found->second == text, key);
  }
  CHECK_FALSE(metadata.contains("ss_network_args"));
  CHECK_FALSE(metadata.contains("ss_sd_model_name"));
  CHECK_FALSE(metadata.contains("modelspec.timestep_range"));
}

TEST_CASE("all_keys_of_the_reference_tool_are_there") {
  const Metadata metadata = training_metadata(example_facts(), example_values(), kSave);
  // Those that every file has, and those of folder mode.
  for (const char* name : {"session_id",
                           "training_started_at",
                           "output_name",
                           "learning_rate",
                           "text_encoder_lr",
                           "unet_lr",
                           "num_train_images",
                           "num_validation_images",
                           "num_reg_images",
                           "num_batches_per_epoch",
                           "num_epochs",
                           "gradient_checkpointing",
                           "gradient_accumulation_steps",
                           "max_train_steps",
                           "lr_warmup_steps",
                           "lr_scheduler",
                           "network_module",
                           "network_dim",
                           "network_alpha",
                           "network_dropout",
                           "mixed_precision",
                           "full_fp16",
                           "v2",
                           "base_model_version",
                           "clip_skip",
                           "max_token_length",
                           "cache_latents",
                           "seed",
                           "lowram",
                           "noise_offset",
                           "multires_noise_iterations",
                           "multires_noise_discount",
                           "adaptive_noise_scale",
                           "zero_terminal_snr",
                           "training_comment",
                           "sd_scripts_commit_hash",
                           "optimizer",
                           "max_grad_norm",
                           "caption_dropout_rate",
                           "caption_dropout_every_n_epochs",
                           "caption_tag_dropout_rate",
                           "face_crop_aug_range",
                           "prior_loss_weight",
                           "min_snr_gamma",
                           "scale_weight_norms",
                           "ip_noise_gamma",
                           "debiased_estimation",
                           "noise_offset_random_strength",
                           "ip_noise_gamma_random_strength",
                           "loss_type",
                           "huber_schedule",
                           "huber_scale",
                           "huber_c",
                           "fp8_base",
                           "fp8_base_unet",
                           "validation_seed",
                           "validation_split",
                           "max_validation_steps",
                           "validate_every_n_epochs",
                           "validate_every_n_steps",
                           "resize_interpolation",
                           "batch_size_per_device",
                           "total_batch_size",
                           "resolution",
                           "color_aug",
                           "flip_aug",
                           "random_crop",
                           "shuffle_caption",
                           "enable_bucket",
                           "bucket_no_upscale",
                           "min_bucket_reso",
                           "max_bucket_reso",
                           "keep_tokens",
                           "dataset_dirs",
                           "reg_dataset_dirs",
                           "tag_frequency",
                           "bucket_info"}) {
    CHECK_MESSAGE(metadata.contains(std::string("ss_") + name), name);
  }
}

TEST_CASE("no_metadata_leaves_what_programs_recognise_the_file_by") {
  Values values = example_values();
  values.set("no_metadata", true);
  values.set("network_args", std::vector<std::string>{"conv_dim=8"});
  const Metadata metadata = training_metadata(example_facts(), values, kSave);
  CHECK(metadata.at("ss_network_args") == R"({"conv_dim": "8", "dropout": null})");
  CHECK(metadata.at("ss_base_model_version") == "sd_v1");
  CHECK(metadata.contains("modelspec.architecture"));
  CHECK_FALSE(metadata.contains("ss_tag_frequency"));
  CHECK_FALSE(metadata.contains("ss_steps"));
}

TEST_CASE("described_data_sets_become_a_list_and_repeated_names_are_numbered") {
  TrainingFacts facts = example_facts();
  facts.has_dataset_config = true;
  facts.datasets.push_back(facts.datasets.front());
  facts.datasets.back().enable_bucket = false;
  facts.datasets.back().subsets.push_back({.name = "1_dog", .is_regularisation = true});
  const Metadata metadata = training_metadata(facts, example_values(), kSave);
  const std::string dirs =
      R"j({"10_cat": {"n_repeats": 10, "img_count": 12}, "10_cat (2)": {"n_repeats": 10, "img_count": 12}})j";
  CHECK(metadata.at("ss_dataset_dirs") == dirs);
  const std::string beginning =
      R"j([{"is_dreambooth": true, "batch_size_per_device": 2, "num_train_images": 120, "num_reg_images": 0, )j"
      R"j("resolution": [512, 512], "enable_bucket": true, "min_bucket_reso": 256, "max_bucket_reso": 1024, )j"
      R"j("tag_frequency": {"10_cat": {"a cat": 12)j";
  CHECK(metadata.at("ss_datasets").starts_with(beginning));
  CHECK(metadata.at("ss_datasets").find("\"bucket_info\": null") != std::string::npos);
  CHECK_FALSE(metadata.contains("ss_resolution"));
}

TEST_CASE("model_files_are_named_without_their_folder_and_hashed") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "cinnabar_metadata_test";
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "model.safetensors";
  std::ofstream(file) << "abc";
  const FileFacts facts = file_facts(file.string());
  CHECK(facts.name == "model.safetensors");
  CHECK(facts.sha256 == cinnabar::base::sha256_hex("abc"));
  CHECK(facts.legacy_hash == "e3b0c442");
  CHECK(file_facts(file.string(), "known").sha256 == "known");
  CHECK(file_facts(folder.string() + "/").name == "cinnabar_metadata_test");
  CHECK(file_facts(folder.string()).sha256 == "IsADirectory");
  CHECK(file_facts("runwayml/stable-diffusion-v1-5").name == "runwayml/stable-diffusion-v1-5");
  CHECK(file_facts("/no/such/file.ckpt").name == "file.ckpt");
  std::filesystem::remove_all(folder);

  TrainingFacts training = example_facts();
  training.base_model = facts;
  const Metadata metadata = training_metadata(training, example_values(), kSave);
  CHECK(metadata.at("ss_sd_model_name") == "model.safetensors");
  CHECK(metadata.at("ss_new_sd_model_hash") == facts.sha256);
  CHECK(metadata.at("ss_sd_model_hash") == "e3b0c442");
}

TEST_CASE("tags_are_lower_case_and_counted_in_order_of_appearance") {
  const TagCounts counts = count_tags({"A Cat, red ,, \xC3\x89t\xC3\xA9", "red\n, a cat"});
  CHECK(counts == TagCounts{{"a cat", 2}, {"red", 2}, {"\xC3\xA9t\xC3\xA9", 1}});
}

TEST_CASE("optional_model_spec_fields_appear_when_given") {
  Values values = example_values();
  values.set("metadata_author", std::string("me"));
  values.set("clip_skip", int64_t{2});
  values.set("max_timestep", int64_t{900});
  TrainingFacts facts = example_facts();
  facts.is_velocity = true;
  const Metadata metadata = training_metadata(facts, values, kSave);
  CHECK(metadata.at("modelspec.author") == "me");
  CHECK(metadata.at("modelspec.encoder_layer") == "2");
  CHECK(metadata.at("modelspec.timestep_range") == "0,900");
  CHECK(metadata.at("modelspec.prediction_type") == "v");
  CHECK_FALSE(metadata.contains("modelspec.license"));
}
