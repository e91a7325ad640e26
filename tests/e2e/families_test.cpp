// Small random models of the other families: made, trained with and without caches, and used for pictures.
#include <doctest/doctest.h>

#include "cinnabar/formats/checkpoint.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

void run(const Program& program, const std::vector<std::string>& words) {
  const Ended ended = program.run(words);
  INFO(ended.text);
  CHECK(ended.status == 0);
}

void make_model(const Program& program, const std::string& family) {
  run(program, {"init_model", family + ".safetensors", "--family", family, "--seed", "3"});
}

std::unique_ptr<cinnabar::formats::Checkpoint> train(const Program& program, const std::string& family,
                                                     const std::string& name, std::vector<std::string> more) {
  more.insert(more.begin(), {"--pretrained_model_name_or_path", family + ".safetensors", "--max_train_steps", "2"});
  run(program, Program::short_training(name, more));
  const auto path = program.folder() / "out" / (name + ".safetensors");
  REQUIRE_MESSAGE(std::filesystem::exists(path), path.string());
  return cinnabar::formats::Checkpoint::open(path);
}

void make_picture(const Program& program, const std::string& family, const std::string& lora) {
  run(program, {"sample", "--pretrained_model_name_or_path", family + ".safetensors", "--prompt", "a (red:1.2) fox",
                "--lora", "out/" + lora + ".safetensors", "--sample_steps", "2", "--output_dir", "pictures_" + family});
  size_t pictures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(program.folder() / ("pictures_" + family))) {
    pictures += entry.path().extension() == ".png";
  }
  CHECK(pictures == 1);
}

bool has(const cinnabar::formats::Checkpoint& file, const std::string& layer) {
  return file.find(layer + ".lora_down.weight") != nullptr && file.find(layer + ".lora_up.weight") != nullptr &&
         file.find(layer + ".alpha") != nullptr;
}

}  // namespace

TEST_CASE("sd2_trains_with_text_encoder_and_with_caches") {
  const Program program;
  make_model(program, "sd2");
  const auto file = train(program, "sd2", "two", {"--weighted_captions", "--max_token_length", "150"});
  CHECK(has(*file, "lora_te_text_model_encoder_layers_1_mlp_fc2"));
  CHECK_FALSE(has(*file, "lora_te_text_model_encoder_layers_2_mlp_fc2"));  // the file's last layer is not used
  CHECK(has(*file, "lora_unet_mid_block_attentions_0_proj_in"));
  CHECK(file->find("lora_unet_mid_block_attentions_0_proj_in.lora_down.weight")->shape.size() == 2);
  CHECK(file->metadata().at("ss_base_model_version") == "sd_v2");
  CHECK(file->metadata().at("ss_v2") == "True");
  CHECK(file->metadata().at("modelspec.architecture") == "stable-diffusion-v2-512/lora");
  const auto cached =
      train(program, "sd2", "cached",
            {"--cache_latents", "--cache_text_encoder_outputs", "--network_train_unet_only", "--v_parameterization"});
  CHECK(cached->metadata().at("ss_base_model_version") == "sd_v2_v");
  CHECK_FALSE(has(*cached, "lora_te_text_model_encoder_layers_1_mlp_fc2"));
  make_picture(program, "sd2", "two");
}

TEST_CASE("sdxl_trains_with_both_text_encoders_and_with_caches") {
  const Program program;
  make_model(program, "sdxl");
  const auto file = train(program, "sdxl", "both", {"--flip_aug", "--network_args", "conv_dim=2", "conv_alpha=1"});
  CHECK(has(*file, "lora_te1_text_model_encoder_layers_0_self_attn_q_proj"));
  CHECK(has(*file, "lora_te2_text_model_encoder_layers_1_mlp_fc1"));
  CHECK(has(*file, "lora_unet_middle_block_1_transformer_blocks_1_attn2_to_k"));
  CHECK(has(*file, "lora_unet_input_blocks_2_0_op"));
  CHECK(file->metadata().at("ss_base_model_version") == "sdxl_base_v1-0");
  CHECK(file->metadata().at("ss_v2") == "False");
  CHECK(file->metadata().at("modelspec.architecture") == "stable-diffusion-xl-v1-base/lora");
  CHECK(file->metadata().at("modelspec.implementation") == "https://github.com/Stability-AI/generative-models");
  const auto cached = train(
      program, "sdxl", "cached",
      {"--cache_latents", "--cache_text_encoder_outputs", "--network_train_unet_only", "--gradient_checkpointing"});
  // Text states from a cache are those that are computed in the loop.
  const auto computed =
      train(program, "sdxl", "computed", {"--cache_latents", "--network_train_unet_only", "--gradient_checkpointing"});
  CHECK(cached->metadata().at("sshs_model_hash") == computed->metadata().at("sshs_model_hash"));
  make_picture(program, "sdxl", "both");
}

TEST_CASE("a_file_that_is_no_base_model_and_a_wrong_version_flag_are_named") {
  const Program program;
  const Ended first = program.run(Program::short_training("plain", {"--max_train_steps", "1", "--v2"}));
  CHECK(first.status == 0);
  CHECK(first.text.find("v2 is set, but the model is of the family sd1") != std::string::npos);
  const Ended second =
      program.run(Program::short_training("again", {"--pretrained_model_name_or_path", "out/plain.safetensors"}));
  CHECK(second.status == 1);
  CHECK(second.text.find("a LoRA or another adapter, not a base model") != std::string::npos);
}
