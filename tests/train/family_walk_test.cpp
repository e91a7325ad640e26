// Tiny models of the other families train with every group of options: each run ends well, writes finite weights, and
// differs from a plain one in what the group is about. What single options do is option_effects_test's.
#include <algorithm>

#include <doctest/doctest.h>

#include "cinnabar/jobs/command_schemas.h"
#include "train/option_effects.h"
#include "train/run_outcome.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::test;
using P = Part;

struct Group {
  std::string name;
  Part part;  // that must differ from the plain run's
  Words words;
};

const Words kValidation{"--train_data_dir",          "many", "--validation_split",       "0.5",
                        "--validation_seed",         "3",    "--validate_every_n_steps", "1",
                        "--validate_every_n_epochs", "1",    "--max_validation_steps",   "1"};

std::vector<Group> loss_groups() {
  return {
      {"l1", P::Weights, {"--loss_type", "l1", "--prior_loss_weight", "0.5", "--reg_data_dir", "reg"}},
      {"huber", P::Weights, {"--loss_type", "huber", "--huber_schedule", "exponential", "--huber_c", "0.2"}},
      {"smooth l1", P::Weights, {"--loss_type", "smooth_l1", "--huber_schedule", "constant", "--huber_scale", "2"}},
      {"loss weights", P::Losses, {"--min_snr_gamma", "5", "--min_timestep", "100", "--max_timestep", "900"}},
      {"noise offset",
       P::Losses,
       {"--noise_offset", "0.1", "--noise_offset_random_strength", "--adaptive_noise_scale", "0.1", "--ip_noise_gamma",
        "0.1", "--ip_noise_gamma_random_strength"}},
      {"pyramid noise", P::Losses, {"--multires_noise_iterations", "6", "--multires_noise_discount", "0.3"}},
  };
}

std::vector<Group> data_groups() {
  return {
      {"data set file", P::Messages, {"--dataset_config", "sets.json"}},
      {"buckets",
       P::Weights,
       {"--enable_bucket", "--resolution", "96,64", "--min_bucket_reso", "32", "--max_bucket_reso", "160",
        "--bucket_reso_steps", "32", "--bucket_no_upscale", "--train_batch_size", "2"}},
      {"captions",
       P::Weights,
       {"--shuffle_caption", "--keep_tokens", "1", "--secondary_separator", ";;", "--enable_wildcard",
        "--caption_prefix", "photo", "--caption_suffix", "end", "--caption_tag_dropout_rate", "0.2",
        "--caption_dropout_rate", "0.2", "--caption_dropout_every_n_epochs", "2", "--token_warmup_step", "10"}},
      {"long weighted captions", P::Weights, {"--weighted_captions", "--max_token_length", "225"}},
      {"masks", P::Losses, {"--masked_loss", "--conditioning_data_dir", "masks", "--masked_loss_normalize"}},
      {"alpha masks", P::Losses, {"--alpha_mask", "--transparent_background", "black"}},
      {"augmentation", P::Weights, {"--flip_aug", "--color_aug", "--random_crop"}},
      {"faces", P::Weights, {"--train_data_dir", "faces", "--face_crop_aug_range", "2.0,4.0", "--face_captions"}},
      {"caches in memory", P::Messages, {"--cache_latents", "--vae_batch_size", "2"}},
      {"caches on disk",
       P::Files,
       {"--cache_latents_to_disk", "--cache_text_encoder_outputs_to_disk", "--network_train_unet_only"}},
      {"caches of sd-scripts, written", P::Files, {"--write_npz", "--flip_aug", "--network_train_unet_only"}},
      {"caches of sd-scripts, read", P::Messages, {"--read_npz", "--train_data_dir", "cached"}},
      {"validation", P::Progress, kValidation},
  };
}

std::vector<Group> network_groups() {
  return {
      {"U-Net alone", P::Trained, {"--network_train_unet_only", "--unet_lr", "2e-3"}},
      {"text encoders alone", P::Trained, {"--network_train_text_encoder_only", "--text_encoder_lr", "2e-3", "1e-3"}},
      {"LoRA+ and convolutions", P::Weights, {"--network_args", "conv_dim=2", "conv_alpha=1", "loraplus_lr_ratio=4"}},
      {"rates by block", P::Weights, {"--network_args", "down_lr_weight=sine+0.25", "up_lr_weight=linear"}},
      {"dropouts and norms",
       P::Weights,
       {"--network_dropout", "0.2", "--network_args", "rank_dropout=0.2", "module_dropout=0.1", "--scale_weight_norms",
        "0.01"}},
      {"other networks",
       P::Weights,
       {"--base_weights", "before.safetensors", "--base_weights_multiplier", "0.5", "--network_weights",
        "before.safetensors", "--dim_from_weights"}},
      {"moving average", P::Files, {"--ema", "--ema_decay", "0.5", "--ema_update_every", "1", "--ema_save_raw"}},
  };
}

std::vector<Group> run_groups() {
  return {
      {"bf16", P::Weights, {"--mixed_precision", "bf16", "--no_half_vae", "--gradient_checkpointing"}},
      {"fp16", P::Types, {"--mixed_precision", "fp16", "--save_precision", "fp16"}},
      {"full bf16", P::Types, {"--mixed_precision", "bf16", "--full_bf16"}},
      {"full fp16", P::Types, {"--mixed_precision", "fp16", "--full_fp16"}},
      {"accumulation", P::Weights, {"--gradient_accumulation_steps", "2", "--max_grad_norm", "0.01"}},
      {"saving",
       P::Files,
       {"--save_every_n_steps", "1", "--save_last_n_steps", "1", "--save_state", "--save_model_as", "ckpt"}},
      {"resuming", P::Losses, {"--resume", "before-state", "--max_train_steps", "4"}},
      {"previews with every sampler", P::Pictures, {"--sample_prompts", "samplers.txt", "--sample_at_first"}},
      {"previews of a TOML file",
       P::Pictures,
       {"--sample_prompts", "prompts.toml", "--sample_every_n_steps", "2", "--sample_sampler", "dpmsolver++",
        "--karras_sigmas"}},
      {"previews of a JSON file",
       P::Pictures,
       {"--sample_prompts", "prompts.json", "--sample_every_n_steps", "2", "--timestep_spacing", "trailing"}},
  };
}

// Each with learning rates and arguments that it takes.
std::vector<Group> optimizer_groups() {
  std::vector<Group> groups;
  const schema::Schema schema = jobs::train_schema();
  for (const schema::EntryTable& table : schema.tables()) {
    for (const schema::Entry& entry : table.entries) {
      Words words;
      if (table.kind == "optimizer" && entry.name != "AdamW") {
        words = {"--optimizer_type", entry.name, "--network_train_unet_only"};
        if (entry.name == "Adafactor") words.insert(words.end(), {"--optimizer_args", "warmup_init=True"});
        if (entry.name.starts_with("DAdapt") || entry.name == "Prodigy")
          words.insert(words.end(), {"--learning_rate", "1"});
      }
      if (!words.empty()) groups.push_back({entry.name, P::Metadata, words});
    }
  }
  return groups;
}

std::vector<Group> schedule_groups() {
  return {
      {"cosine", P::Weights, {"--lr_scheduler", "cosine", "--lr_warmup_steps", "1"}},
      {"polynomial", P::Weights, {"--lr_scheduler", "polynomial", "--lr_scheduler_power", "2"}},
      {"stable and decay",
       P::Weights,
       {"--lr_scheduler", "warmup_stable_decay", "--lr_warmup_steps", "1", "--lr_decay_steps", "1"}},
      {"a class", P::Weights, {"--lr_scheduler_type", "StepLR", "--lr_scheduler_args", "step_size=1"}},
  };
}

std::vector<Group> all_groups() {
  std::vector<Group> all;
  for (const auto& part :
       {loss_groups(), data_groups(), network_groups(), run_groups(), optimizer_groups(), schedule_groups()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// `always`: options of every run.
void walk(Laboratory& laboratory, const std::vector<Group>& groups, const Words& always, const std::string& trained) {
  const auto plain = laboratory.run(always);
  CHECK(part_of(plain, P::Error) == "");
  CHECK(part_of(plain, P::Trained) == trained);
  for (const Group& group : groups) {
    INFO(group.name);
    Words words = always;
    words.insert(words.end(), group.words.begin(), group.words.end());
    const auto outcome = laboratory.run(words);
    CHECK_MESSAGE(part_of(outcome, P::Error) == "", group.name, " fails");
    CHECK_MESSAGE(part_of(outcome, group.part) != part_of(plain, group.part), group.name, " changes nothing");
  }
}

// Losses and weights that know what the model predicts.
const std::vector<Group> kEpsilonGroups{
    {"debiased loss", P::Losses, {"--debiased_estimation_loss"}},
    {"v-like loss", P::Losses, {"--v_pred_like_loss", "0.5"}},
};
const std::vector<Group> kVelocityGroups{
    {"l2 without terminal signal", P::Weights, {"--zero_terminal_snr"}},
    {"scaled v loss", P::Losses, {"--scale_v_pred_loss_like_noise_pred", "--min_snr_gamma", "5"}},
    {"previews without terminal signal",
     P::Pictures,
     {"--sample_prompts", "prompts.toml", "--sample_at_first", "--sample_noise_table", "zero_terminal"}},
};

std::string ranks(size_t blocks) {
  std::string text = "block_dims=2";
  for (size_t i = 1; i < blocks; ++i) text += i % 3 == 0 ? ",0" : ",2";
  return text;
}

}  // namespace

TEST_CASE("tiny_sd2_trains_with_every_group_of_options") {
  Laboratory laboratory("sd2");
  walk(laboratory, all_groups(), {}, "te unet ");
  walk(laboratory, kEpsilonGroups, {}, "te unet ");
  walk(laboratory,
       {{"ranks by block", P::Weights, {"--network_args", ranks(25)}}, {"clip_skip", P::Weights, {"--clip_skip", "2"}}},
       {}, "te unet ");
}

TEST_CASE("tiny_sd2_with_v_prediction_trains_with_every_loss_and_with_previews") {
  Laboratory laboratory("sd2");
  const Words velocity{"--v_parameterization"};
  walk(laboratory, loss_groups(), velocity, "te unet ");
  walk(laboratory, kVelocityGroups, velocity, "te unet ");
  walk(laboratory, run_groups(), velocity, "te unet ");
}

TEST_CASE("tiny_sdxl_trains_with_every_group_of_options") {
  Laboratory laboratory("sdxl");
  walk(laboratory, all_groups(), {}, "te1 te2 unet ");
  walk(laboratory, kEpsilonGroups, {}, "te1 te2 unet ");
  walk(laboratory,
       {{"ranks by block", P::Weights, {"--network_args", ranks(23)}},
        {"projection of sd-scripts", P::Weights, {"--sdscripts_text_projection"}}},
       {}, "te1 te2 unet ");
}

TEST_CASE("every_sampler_makes_a_picture_of_its_own_prompt") {
  const schema::Schema schema = jobs::train_schema();
  for (const std::string family : {"sd2", "sdxl"}) {
    INFO(family);
    Laboratory laboratory(family);
    const auto outcome = laboratory.run({"--sample_prompts", "samplers.txt", "--sample_at_first"});
    const std::string pictures = part_of(outcome, P::Pictures);
    size_t samplers = 0;
    for (const schema::EntryTable& table : schema.tables()) {
      if (table.kind == "sampler") samplers += table.entries.size();
    }
    CHECK(static_cast<size_t>(std::ranges::count(pictures, '\n')) == samplers);
    CHECK(part_of(outcome, P::Messages).find("failed") == std::string::npos);
  }
}
