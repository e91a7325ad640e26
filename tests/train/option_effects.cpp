#include "train/option_effects.h"

namespace cinnabar::test {

namespace {

using P = Part;

const Words kEpochs{"--max_train_steps", "6"};  // two epochs of the three batches
const Words kPreview{"--sample_prompts", "prompts.txt", "--sample_at_first"};
const Words kMany{"--train_data_dir", "many"};
const Words kHeldOut{"--train_data_dir", "many", "--validation_split", "0.5"};
const Words kHuber{"--loss_type", "huber"};
const Words kReg{"--reg_data_dir", "reg"};
const Words kVelocity{"--v_parameterization"};
const Words kFineBuckets{"--enable_bucket", "--resolution", "128", "--bucket_reso_steps", "16"};
const Words kBuckets{"--enable_bucket", "--min_bucket_reso", "64"};

Words plus(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<OptionEffect> model_rows() {
  return {
      {"pretrained_model_name_or_path", P::Weights, {"other.safetensors"}, {}, {"tiny.safetensors"}},
      {"vae", P::Weights, {"other.safetensors"}},
      {"v_parameterization", P::Weights, {}},
      {"v2", P::Messages, {}},
      {"sdscripts_text_projection",
       P::Weights,
       {},
       {"--pretrained_model_name_or_path", "xl.safetensors", "--max_train_steps", "1"}},
      {"allow_nonfinite", P::Elsewhere, {"tests/e2e/damaged_models_test.cpp"}},
      {"clip_skip", P::Weights, {"2"}},
      {"max_token_length", P::Weights, {"150"}},
      {"mixed_precision", P::Weights, {"bf16"}},
      {"full_fp16", P::Types, {}, {"--mixed_precision", "fp16"}},
      {"full_bf16", P::Types, {}, {"--mixed_precision", "bf16"}},
      {"no_half_vae", P::Weights, {}, {"--mixed_precision", "bf16"}},
      {"micro_batch_size", P::Elsewhere, {"tests/train/micro_batch_test.cpp"}},
      {"oom", P::Elsewhere, {"tests/e2e/policies_test.cpp"}},
      {"stop_after_bad_steps", P::Elsewhere, {"tests/e2e/policies_test.cpp"}},
      {"step_timeout", P::Elsewhere, {"tests/train/hang_watchdog_test.cpp"}},
      {"gradient_checkpointing", P::Elsewhere, {"tests/e2e/train_test.cpp"}},
      {"lowram", P::Messages, {}},
      {"profile_steps", P::Messages, {"1"}, kEpochs},
  };
}

std::vector<OptionEffect> data_rows() {
  return {
      {"train_data_dir", P::Weights, {"reg"}, {}, {"data"}},
      {"reg_data_dir", P::Weights, {"reg"}},
      {"resolution", P::Weights, {"128"}},
      {"train_batch_size", P::Weights, {"2"}},
      {"caption_extension", P::Weights, {".other"}},
      {"enable_bucket",
       P::Weights,
       {},
       {"--resolution", "128", "--min_bucket_reso", "64", "--bucket_reso_steps", "16"}},
      {"min_bucket_reso", P::Messages, {"128"}, kFineBuckets, {"64"}},
      {"max_bucket_reso", P::Messages, {"128"}, plus(kFineBuckets, {"--min_bucket_reso", "64"}), {"1024"}},
      {"bucket_reso_steps", P::Messages, {"8"}, {"--enable_bucket", "--min_bucket_reso", "32"}, {"32"}},
      {"bucket_no_upscale", P::Messages, {}, plus(kBuckets, {"--resolution", "256"})},
      {"cache_latents", P::Messages, {}},
      {"cache_latents_to_disk", P::Files, {}},
      {"cache_text_encoder_outputs", P::Error, {}, {"--network_train_unet_only", "--shuffle_caption"}},
      {"cache_text_encoder_outputs_to_disk", P::Files, {}, {"--network_train_unet_only"}},
      {"vae_batch_size", P::Progress, {"2"}, {"--cache_latents"}},
      {"flip_aug", P::Weights, {}, kEpochs},
      {"color_aug", P::Weights, {}, kEpochs},
      {"random_crop", P::Weights, {}},
      {"transparent_background", P::Weights, {"black"}},
      {"alpha_mask", P::Losses, {}},
      {"masked_loss", P::Losses, {}, {"--conditioning_data_dir", "masks"}},
      {"conditioning_data_dir", P::Losses, {"masks"}, {"--masked_loss"}},
      {"masked_loss_normalize", P::Losses, {}, {"--alpha_mask"}},
      {"write_npz", P::Files, {}},
      {"resize_interpolation", P::Weights, {"nearest"}},
      {"max_data_loader_n_workers", P::Elsewhere, {"tests/e2e/train_test.cpp"}},
  };
}

std::vector<OptionEffect> picture_rows() {
  return {
      {"dataset_config", P::Weights, {"set.toml"}},
      {"dataset_repeats", P::Messages, {"3"}, {"--dataset_config", "set.toml"}},
      {"recursive", P::Messages, {}, {"--train_data_dir", "deep"}},
      {"strict", P::Error, {}, {"--train_data_dir", "broken"}},
      {"face_crop_aug_range", P::Weights, {"2.0,4.0"}, {"--train_data_dir", "faces"}},
      {"read_npz", P::Messages, {}, {"--train_data_dir", "cached", "--pretrained_model_name_or_path", "embedded"}},
  };
}

std::vector<OptionEffect> caption_rows() {
  return {
      {"shuffle_caption", P::Weights, {}},
      {"keep_tokens", P::Weights, {"3"}, {"--shuffle_caption"}},
      {"keep_tokens_separator", P::Weights, {"|||"}, {"--shuffle_caption"}},
      {"caption_separator", P::Weights, {";"}, {"--shuffle_caption"}},
      {"caption_joiner", P::Weights, {" + "}, {"--shuffle_caption"}},
      {"caption_lines", P::Weights, {"join"}, {"--train_data_dir", "lines"}},
      {"skip_uncaptioned", P::Messages, {}, {"--train_data_dir", "bare"}},
      {"face_captions", P::Weights, {}, {"--train_data_dir", "faces"}},
      {"weighted_captions", P::Weights, {}},
      {"secondary_separator", P::Weights, {";;"}},
      {"enable_wildcard", P::Weights, {}},
      {"caption_prefix", P::Weights, {"photo of"}},
      {"caption_suffix", P::Weights, {"at night"}},
      {"caption_dropout_rate", P::Weights, {"1"}},
      {"caption_dropout_every_n_epochs", P::Weights, {"2"}, kEpochs},
      {"caption_tag_dropout_rate", P::Weights, {"0.9"}},
      {"token_warmup_min", P::Weights, {"3"}, {"--token_warmup_step", "100"}},
      {"token_warmup_step", P::Weights, {"100"}},
  };
}

std::vector<OptionEffect> network_rows() {
  return {
      {"network_module", P::Error, {"networks.none"}},
      {"network_dim", P::Weights, {"3"}},
      {"network_alpha", P::Weights, {"2"}},
      {"network_dropout", P::Weights, {"0.5"}},
      {"network_args", P::Weights, {"conv_dim=1"}},
      {"network_weights", P::Weights, {"before.safetensors"}},
      {"dim_from_weights", P::Weights, {}, {"--network_weights", "before.safetensors", "--network_args", "conv_dim=1"}},
      {"base_weights", P::Weights, {"before.safetensors"}},
      {"base_weights_multiplier", P::Weights, {"0.5"}, {"--base_weights", "before.safetensors"}},
      {"scale_weight_norms", P::Weights, {"0.001"}},
      {"ema", P::Weights, {}},
      {"ema_decay", P::Weights, {"0.05"}, {"--ema"}},
      {"ema_update_every", P::Weights, {"2"}, {"--ema"}},
      {"ema_save_raw", P::Files, {}, {"--ema"}},
      {"network_train_unet_only", P::Weights, {}},
      {"network_train_text_encoder_only", P::Weights, {}},
  };
}

std::string of_25(const std::string& name, const std::string& number) {
  std::string text = name + "=" + number;
  for (int i = 1; i < 25; ++i) text += "," + number;
  return text;
}

// Keys of network_args: `other` holds the keys of both runs, `value` those of the second alone.
std::vector<OptionEffect> network_argument_rows() {
  return {
      {"network_args.conv_dim", P::Weights, {"conv_dim=1"}},
      {"network_args.conv_alpha", P::Weights, {"conv_alpha=0.5"}, {}, {"conv_dim=1"}},
      {"network_args.network_dropout", P::Weights, {"network_dropout=0.5"}},
      {"network_args.rank_dropout", P::Weights, {"rank_dropout=0.5"}},
      {"network_args.module_dropout", P::Weights, {"module_dropout=0.5"}},
      {"network_args.loraplus_lr_ratio", P::Weights, {"loraplus_lr_ratio=4"}},
      {"network_args.loraplus_unet_lr_ratio", P::Weights, {"loraplus_unet_lr_ratio=4"}},
      {"network_args.loraplus_text_encoder_lr_ratio", P::Weights, {"loraplus_text_encoder_lr_ratio=4"}},
      {"network_args.down_lr_weight", P::Weights, {"down_lr_weight=cosine+0.1"}},
      {"network_args.mid_lr_weight", P::Weights, {"mid_lr_weight=0.5"}},
      {"network_args.up_lr_weight", P::Weights, {"up_lr_weight=linear"}},
      {"network_args.block_lr_zero_threshold", P::Weights, {"block_lr_zero_threshold=0.7"}, {}, {"mid_lr_weight=0.5"}},
      {"network_args.block_dims", P::Weights, {of_25("block_dims", "3")}},
      {"network_args.block_alphas", P::Weights, {of_25("block_alphas", "3")}, {}, {of_25("block_dims", "3")}},
      {"network_args.conv_block_dims", P::Weights, {of_25("conv_block_dims", "2")}, {}, {of_25("block_dims", "3")}},
      {"network_args.conv_block_alphas",
       P::Weights,
       {of_25("conv_block_alphas", "2")},
       {},
       {of_25("block_dims", "3"), of_25("conv_block_dims", "2")}},
  };
}

std::vector<OptionEffect> optimizer_rows() {
  return {
      {"optimizer_type", P::Weights, {"Adam"}},
      {"optimizer_args", P::Weights, {"weight_decay=0.5"}},
      {"use_8bit_adam", P::Metadata, {}},
      {"use_lion_optimizer", P::Weights, {}},
      {"fused_backward_pass", P::Messages, {}, {"--optimizer_type", "Adafactor"}},
      {"lr_scheduler_type", P::Weights, {"CosineAnnealingLR", "--lr_scheduler_args", "T_max=2"}},
      {"max_grad_norm", P::Weights, {"1e-8"}},
      {"gradient_accumulation_steps", P::Weights, {"2"}},
      {"learning_rate", P::Weights, {"2e-3"}},
      {"unet_lr", P::Weights, {"2e-3"}},
      {"text_encoder_lr", P::Weights, {"2e-3"}},
      {"lr_scheduler", P::Weights, {"linear"}},
      {"lr_warmup_steps", P::Weights, {"1"}, {"--lr_scheduler", "linear"}},
      {"lr_decay_steps", P::Weights, {"3"}, {"--lr_scheduler", "warmup_stable_decay", "--max_train_steps", "4"}},
      {"lr_scheduler_num_cycles", P::Weights, {"2"}, {"--lr_scheduler", "cosine_with_restarts"}},
      {"lr_scheduler_power", P::Weights, {"3"}, {"--lr_scheduler", "polynomial"}},
      {"lr_scheduler_timescale", P::Weights, {"2"}, {"--lr_scheduler", "inverse_sqrt"}},
      {"lr_scheduler_min_lr_ratio", P::Weights, {"0.5"}, {"--lr_scheduler", "cosine_with_min_lr"}, {"0.1"}},
      {"lr_scheduler_args",
       P::Weights,
       {"step_rules=\"1:1,0.1\""},
       {"--lr_scheduler", "piecewise_constant"},
       {"step_rules=\"1:1,0.5\""}},
  };
}

std::vector<OptionEffect> training_rows() {
  return {
      {"max_train_steps", P::Weights, {"3"}, {}, {"2"}},
      {"max_train_epochs", P::Weights, {"1"}},
      {"seed", P::Weights, {"2"}, {}, {"1"}},
      {"validation_split", P::Messages, {"0.5"}, kMany},
      {"validation_seed", P::Messages, {"9"}, kHeldOut},
      {"validate_every_n_steps", P::Messages, {"1"}, kHeldOut},
      {"validate_every_n_epochs", P::Messages, {"5"}, kHeldOut},
      {"max_validation_steps", P::Progress, {"1"}, kHeldOut},
  };
}

std::vector<OptionEffect> loss_rows() {
  return {
      {"loss_type", P::Weights, {"l1"}},
      {"prior_loss_weight", P::Weights, {"0.1"}, plus(kReg, kEpochs)},
      {"zero_terminal_snr", P::Weights, {}, kVelocity},
      {"huber_c", P::Losses, {"0.5"}, kHuber},
      {"huber_schedule", P::Losses, {"constant"}, kHuber},
      {"huber_scale", P::Losses, {"2"}, plus(kHuber, {"--huber_schedule", "constant"})},
      {"debiased_estimation_loss", P::Losses, {}},
      {"min_snr_gamma", P::Losses, {"0.01"}},
      {"scale_v_pred_loss_like_noise_pred", P::Losses, {}, kVelocity},
      {"v_pred_like_loss", P::Losses, {"0.5"}},
      {"ip_noise_gamma", P::Losses, {"0.3"}},
      {"ip_noise_gamma_random_strength", P::Losses, {}, {"--ip_noise_gamma", "0.3"}},
      {"multires_noise_iterations", P::Losses, {"4"}},
      {"multires_noise_discount", P::Losses, {"0.9"}, {"--multires_noise_iterations", "4"}},
      {"noise_offset", P::Losses, {"0.3"}},
      {"noise_offset_random_strength", P::Losses, {}, {"--noise_offset", "0.3"}},
      {"adaptive_noise_scale", P::Losses, {"0.5"}, {"--noise_offset", "0.3"}},
      {"min_timestep", P::Losses, {"990"}},
      {"max_timestep", P::Losses, {"10"}},
  };
}

std::vector<OptionEffect> saving_rows() {
  return {
      {"output_dir", P::Files, {"elsewhere"}},
      {"output_name", P::Files, {"y"}, {}, {"x"}},
      {"save_model_as", P::Files, {"ckpt"}},
      {"save_precision", P::Types, {"fp16"}},
      {"save_every_n_epochs", P::Files, {"1"}, kEpochs},
      {"save_every_n_steps", P::Files, {"1"}},
      {"save_n_epoch_ratio", P::Files, {"2"}, kEpochs},
      {"save_last_n_epochs", P::Files, {"1"}, {"--save_every_n_epochs", "1", "--max_train_epochs", "3"}},
      {"save_last_n_steps", P::Files, {"1"}, {"--save_every_n_steps", "1", "--max_train_steps", "5"}},
      {"training_comment", P::Metadata, {"hello"}},
      {"no_metadata", P::Metadata, {}},
      {"metadata_title", P::Metadata, {"hello"}},
      {"metadata_author", P::Metadata, {"hello"}},
      {"metadata_description", P::Metadata, {"hello"}},
      {"metadata_license", P::Metadata, {"hello"}},
      {"metadata_tags", P::Metadata, {"hello"}},
      {"metadata_usage_hint", P::Metadata, {"hello"}},
      {"metadata_trigger_phrase", P::Metadata, {"hello"}},
      {"metadata_thumbnail", P::Metadata, {"data:image/png;base64,AA=="}},
      {"metadata_preprocessor", P::Metadata, {"hello"}},
      {"metadata_is_negative_embedding", P::Metadata, {"true"}},
      {"metadata_merged_from", P::Metadata, {"hello"}},
  };
}

std::vector<OptionEffect> state_rows() {
  const Words state{"--resume", "before-state", "--max_train_steps", "4"};
  return {
      {"save_state", P::Files, {}},
      {"save_state_on_train_end", P::Files, {}},
      {"save_last_n_epochs_state",
       P::Files,
       {"1"},
       {"--save_state", "--save_every_n_epochs", "1", "--max_train_epochs", "3"}},
      {"save_last_n_steps_state",
       P::Files,
       {"1"},
       {"--save_state", "--save_every_n_steps", "1", "--max_train_steps", "5"}},
      {"resume", P::Losses, {"before-state"}, {"--max_train_steps", "4"}},
      {"train_more_steps", P::Weights, {"1"}, state},
      {"initial_step", P::Losses, {"1"}},
      {"initial_epoch", P::Losses, {"2"}, kEpochs},
      {"disk_wait_minutes", P::Elsewhere, {"tests/train/save_queue_test.cpp"}},
  };
}

std::vector<OptionEffect> preview_rows() {
  return {
      {"sample_prompts", P::Pictures, {"prompts.txt"}, {"--sample_every_n_steps", "1"}},
      {"sample_every_n_steps", P::Pictures, {"1"}, {"--sample_prompts", "prompts.txt"}},
      {"sample_every_n_epochs", P::Pictures, {"1"}, {"--sample_prompts", "prompts.txt"}},
      {"sample_at_first", P::Pictures, {}, {"--sample_prompts", "prompts.txt"}},
      {"sample_sampler", P::Pictures, {"euler_a"}, kPreview},
      {"sample_noise_table", P::Pictures, {"zero_terminal"}, plus(kPreview, kVelocity)},
      {"solver_order",
       P::Pictures,
       {"3"},
       {"--sample_prompts", "long.txt", "--sample_at_first", "--sample_sampler", "dpmsolver++"}},
      {"timestep_spacing", P::Pictures, {"trailing"}, kPreview},
      {"clip_sample", P::Pictures, {}, kPreview},
      {"karras_sigmas", P::Pictures, {}, plus(kPreview, {"--sample_sampler", "euler"})},
  };
}

std::vector<OptionEffect> program_rows() {
  return {
      {"logging_dir", P::Records, {"logs"}},
      {"log_with", P::Error, {"none"}},
      {"log_prefix", P::Records, {"p_"}, {"--logging_dir", "logs"}},
      {"device", P::Error, {"nowhere"}},
      {"threads", P::Threads, {"2"}, {}, {"1"}},
      {"mem_eff_attn", P::Elsewhere, {"tests/worker/attention_setup_test.cpp"}},
      {"auto", P::Elsewhere, {"tests/jobs/auto_options_test.cpp"}},
      {"max_temperature", P::Elsewhere, {"tests/train/run_telemetry_test.cpp"}},
      {"telemetry_interval", P::Elsewhere, {"tests/train/run_telemetry_test.cpp"}},
      {"config_file", P::Elsewhere, {"tests/schema/config_file_test.cpp"}},
      {"output_config", P::Elsewhere, {"tests/cases/files.case"}},
      {"workspace", P::Elsewhere, {"tests/cases/engine.case"}},
      {"json", P::Elsewhere, {"tests/cases/engine.case"}},
  };
}

}  // namespace

const std::vector<OptionEffect>& option_effects() {
  static const std::vector<OptionEffect> all = [] {
    std::vector<OptionEffect> rows;
    for (const auto& part : {model_rows(), data_rows(), picture_rows(), caption_rows(), network_rows(),
                             network_argument_rows(), optimizer_rows(), training_rows(), loss_rows(), saving_rows(),
                             state_rows(), preview_rows(), program_rows()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

}  // namespace cinnabar::test
