#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "cinnabar/formats/checkpoint.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

std::unique_ptr<cinnabar::formats::Checkpoint> file_of(const Program& program, const std::string& name) {
  const auto path = program.folder() / "out" / (name + ".safetensors");
  REQUIRE_MESSAGE(std::filesystem::exists(path), path.string());
  return cinnabar::formats::Checkpoint::open(path);
}

// SHA-256 of the tensors: equal hashes are equal weights, bit for bit.
std::string weights_of(const Program& program, const std::string& name) {
  return file_of(program, name)->metadata().at("sshs_model_hash");
}

Ended train(const Program& program, const std::string& name, const std::vector<std::string>& more) {
  Ended ended = program.run(Program::short_training(name, more));
  INFO(ended.text);
  CHECK(ended.status == 0);
  return ended;
}

}  // namespace

TEST_CASE("trains_a_lora_with_kohya_keys_and_metadata") {
  const Program program;
  train(program, "plain", {"--max_train_steps", "2", "--network_args", "conv_dim=2", "conv_alpha=1"});
  const auto file = file_of(program, "plain");
  const auto& metadata = file->metadata();
  CHECK(metadata.at("ss_network_dim") == "4");
  CHECK(metadata.at("ss_network_module") == "networks.lora");
  CHECK(metadata.at("ss_steps") == "2");
  CHECK(metadata.at("ss_seed") == "5");
  CHECK(metadata.at("ss_base_model_version") == "sd_v1_v");
  CHECK(metadata.at("modelspec.architecture") == "stable-diffusion-v1/lora");
  CHECK(metadata.at("modelspec.prediction_type") == "v");
  CHECK(metadata.at("ss_sd_model_name") == "model.safetensors");
  CHECK(metadata.at("ss_dataset_dirs").find("16_zibo") != std::string::npos);
  CHECK(metadata.at("ss_tag_frequency").find("zibo on a red background") != std::string::npos);
  const auto* down = file->find("lora_unet_mid_block_attentions_0_transformer_blocks_0_attn1_to_q.lora_down.weight");
  REQUIRE(down != nullptr);
  CHECK(down->shape == std::vector<int64_t>{4, 128});
  const auto* conv = file->find("lora_unet_mid_block_resnets_0_conv1.lora_down.weight");
  REQUIRE(conv != nullptr);
  CHECK(conv->shape == std::vector<int64_t>{2, 128, 3, 3});
  CHECK(file->find("lora_te_text_model_encoder_layers_0_self_attn_q_proj.lora_up.weight") != nullptr);
  CHECK(file->find("lora_te_text_model_encoder_layers_0_self_attn_q_proj.alpha") != nullptr);
}

TEST_CASE("the_same_seed_gives_the_same_weights_however_batches_are_loaded") {
  const Program program;
  const std::vector<std::string> options = {"--max_train_steps", "3", "--cache_latents"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), options.begin(), options.end());
    return more;
  };
  train(program, "one", with({"--max_data_loader_n_workers", "0"}));
  train(program, "two", with({"--max_data_loader_n_workers", "2"}));
  train(program, "recomputed", with({"--gradient_checkpointing"}));
  train(program, "low", with({"--lowram"}));
  train(program, "disk", {"--max_train_steps", "3", "--cache_latents", "--network_dropout", "0"});
  CHECK(weights_of(program, "one") == weights_of(program, "two"));
  CHECK(weights_of(program, "one") == weights_of(program, "recomputed"));
  CHECK(weights_of(program, "one") == weights_of(program, "low"));
  CHECK(weights_of(program, "one") == weights_of(program, "disk"));
  train(program, "other", with({"--max_data_loader_n_workers", "0", "--seed", "6"}));
  CHECK(weights_of(program, "one") != weights_of(program, "other"));
}

TEST_CASE("dropouts_draw_the_same_masks_when_recomputed") {
  const Program program;
  const std::vector<std::string> options = {
      "--max_train_steps", "3", "--network_dropout", "0.3", "--network_args", "rank_dropout=0.2", "module_dropout=0.2"};
  auto recomputed = options;
  recomputed.emplace_back("--gradient_checkpointing");
  train(program, "kept", options);
  train(program, "recomputed", recomputed);
  CHECK(weights_of(program, "kept") == weights_of(program, "recomputed"));
}

TEST_CASE("saves_every_n_steps_and_epochs_and_removes_older_files") {
  const Program program;
  train(program, "steps", {"--max_train_steps", "4", "--save_every_n_steps", "1", "--save_last_n_steps", "1"});
  CHECK_FALSE(std::filesystem::exists(program.folder() / "out/steps-step00000001.safetensors"));
  CHECK_FALSE(std::filesystem::exists(program.folder() / "out/steps-step00000002.safetensors"));
  CHECK(std::filesystem::exists(program.folder() / "out/steps-step00000004.safetensors"));
  CHECK(file_of(program, "steps-step00000003")->metadata().at("ss_steps") == "3");
  CHECK(weights_of(program, "steps-step00000004") == weights_of(program, "steps"));
}

TEST_CASE("an_interrupted_run_saves_and_ends_with_130") {
  const Program program;
  cinnabar::base::Pipe output = cinnabar::base::make_pipe();
  cinnabar::base::Process process =
      program.start(Program::short_training("long", {"--max_train_steps", "100000"}), output);
  output.write.close();
  std::string text;
  char byte = 0;
  // The first progress line of the loop: from here on the worker trains.
  while (text.find("train 1/100000") == std::string::npos && ::read(output.read.get(), &byte, 1) == 1) text += byte;
  process.send_signal(SIGINT);
  text += cinnabar::test::read_to_end(output.read);
  INFO(text);
  CHECK(process.wait().code.value_or(-1) == 130);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(program.folder() / "out")) {
    files.push_back(entry.path().filename().string());
  }
  // The file, and the state to go on from.
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() == 2);
  CHECK(files.front().starts_with("long-step"));
  CHECK(files.front().ends_with("-state"));
  CHECK(file_of(program, files.back().substr(0, files.back().size() - 12))->tensors().size() > 100);
}

TEST_CASE("a_run_whose_output_nobody_reads_any_more_goes_on") {
  const Program program;
  cinnabar::base::Pipe output = cinnabar::base::make_pipe();
  cinnabar::base::Process process =
      program.start(Program::short_training("unread", {"--max_train_steps", "3"}), output);
  output.write.close();
  char byte = 0;
  REQUIRE(::read(output.read.get(), &byte, 1) == 1);
  output.read.close();
  CHECK(process.wait().code.value_or(-1) == 0);
  CHECK(file_of(program, "unread")->metadata().at("ss_steps") == "3");
}

TEST_CASE("trains_in_bf16_and_writes_the_asked_precision") {
  const Program program;
  train(program, "half", {"--max_train_steps", "2", "--mixed_precision", "bf16", "--save_precision", "fp16"});
  const auto file = file_of(program, "half");
  for (const auto& [name, view] : file->tensors()) {
    INFO(name);
    CHECK(view.dtype == cinnabar::formats::Dtype::F16);
  }
}

TEST_CASE("accumulates_over_batches_and_logs") {
  const Program program;
  train(program, "full",
        {"--max_train_epochs", "1", "--train_batch_size", "16", "--gradient_accumulation_steps", "4",
         "--network_train_unet_only", "--logging_dir", "logs", "--min_snr_gamma", "5", "--noise_offset", "0.05"});
  const auto file = file_of(program, "full");
  CHECK(file->metadata().at("ss_steps") == "2");  // 8 batches, 4 a step
  CHECK(file->find("lora_te_text_model_encoder_layers_0_self_attn_q_proj.alpha") == nullptr);
  size_t event_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(program.folder() / "logs")) {
    event_files += entry.path().filename().string().starts_with("events.out.tfevents");
  }
  CHECK(event_files == 1);
}
