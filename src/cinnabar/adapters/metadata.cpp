#include "cinnabar/adapters/metadata.h"

#include <algorithm>
#include <array>

#include "cinnabar/adapters/dataset_metadata.h"
#include "cinnabar/adapters/python_text.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/formats/adapter_hashes.h"

namespace cinnabar::adapters {

namespace {

// Options that go into metadata as they are. `fallback` is what the reference tool writes when nothing was set.
struct Row {
  const char* key;
  const char* option;
  const char* fallback;
};

constexpr std::array kRows{
    Row{"ss_output_name", "output_name", "None"},
    Row{"ss_learning_rate", "learning_rate", "2e-06"},
    Row{"ss_unet_lr", "unet_lr", "None"},
    Row{"ss_gradient_checkpointing", "gradient_checkpointing", "False"},
    Row{"ss_gradient_accumulation_steps", "gradient_accumulation_steps", "1"},
    Row{"ss_lr_warmup_steps", "lr_warmup_steps", "0"},
    Row{"ss_lr_scheduler", "lr_scheduler", "constant"},
    Row{"ss_network_module", "network_module", "None"},
    Row{"ss_network_dim", "network_dim", "None"},
    Row{"ss_network_alpha", "network_alpha", "1"},
    Row{"ss_network_dropout", "network_dropout", "None"},
    Row{"ss_mixed_precision", "mixed_precision", "no"},
    Row{"ss_full_fp16", "full_fp16", "False"},
    Row{"ss_clip_skip", "clip_skip", "None"},
    Row{"ss_max_token_length", "max_token_length", "None"},
    Row{"ss_cache_latents", "cache_latents", "False"},
    Row{"ss_seed", "seed", "None"},
    Row{"ss_lowram", "lowram", "False"},
    Row{"ss_noise_offset", "noise_offset", "None"},
    Row{"ss_multires_noise_iterations", "multires_noise_iterations", "None"},
    Row{"ss_multires_noise_discount", "multires_noise_discount", "0.3"},
    Row{"ss_adaptive_noise_scale", "adaptive_noise_scale", "None"},
    Row{"ss_zero_terminal_snr", "zero_terminal_snr", "False"},
    Row{"ss_training_comment", "training_comment", "None"},
    Row{"ss_max_grad_norm", "max_grad_norm", "1.0"},
    Row{"ss_caption_dropout_rate", "caption_dropout_rate", "0.0"},
    Row{"ss_caption_dropout_every_n_epochs", "caption_dropout_every_n_epochs", "0"},
    Row{"ss_caption_tag_dropout_rate", "caption_tag_dropout_rate", "0.0"},
    Row{"ss_face_crop_aug_range", "face_crop_aug_range", "None"},
    Row{"ss_prior_loss_weight", "prior_loss_weight", "1.0"},
    Row{"ss_min_snr_gamma", "min_snr_gamma", "None"},
    Row{"ss_scale_weight_norms", "scale_weight_norms", "None"},
    Row{"ss_ip_noise_gamma", "ip_noise_gamma", "None"},
    Row{"ss_debiased_estimation", "debiased_estimation_loss", "False"},
    Row{"ss_noise_offset_random_strength", "noise_offset_random_strength", "False"},
    Row{"ss_ip_noise_gamma_random_strength", "ip_noise_gamma_random_strength", "False"},
    Row{"ss_loss_type", "loss_type", "l2"},
    Row{"ss_huber_schedule", "huber_schedule", "snr"},
    Row{"ss_huber_scale", "huber_scale", "1.0"},
    Row{"ss_huber_c", "huber_c", "0.1"},
    Row{"ss_fp8_base", "fp8_base", "False"},
    Row{"ss_fp8_base_unet", "fp8_base_unet", "False"},
    Row{"ss_validation_seed", "validation_seed", "None"},
    Row{"ss_validation_split", "validation_split", "0.0"},
    Row{"ss_max_validation_steps", "max_validation_steps", "None"},
    Row{"ss_validate_every_n_epochs", "validate_every_n_epochs", "None"},
    Row{"ss_validate_every_n_steps", "validate_every_n_steps", "None"},
    Row{"ss_resize_interpolation", "resize_interpolation", "None"},
};

// What remains with no_metadata, beside the save's own keys.
constexpr std::array kMinimum{"ss_v2",          "ss_base_model_version", "ss_network_module",
                              "ss_network_dim", "ss_network_alpha",      "ss_network_args"};

// "10%" stands for 0.1.
std::string warmup_text(const schema::Value& value) {
  const std::string* text = std::get_if<std::string>(&value);
  if (text == nullptr || !text->ends_with('%')) return python_str(value);
  return python_float(std::stod(*text) / 100.0);
}

// Networks with one group for all text encoders have one number; where the encoders' rates differ it is the list.
std::string text_encoder_lr(const schema::Values& values) {
  const schema::Value& raw = values.raw("text_encoder_lr");
  const auto* list = std::get_if<std::vector<double>>(&raw);
  if (list == nullptr) return python_str(raw);
  if (list->empty()) return "None";
  const bool is_same = std::all_of(list->begin(), list->end(), [&](double rate) { return rate == list->front(); });
  return is_same ? python_float(list->front()) : python_str(raw);
}

// {"conv_dim": "8", "dropout": null}: the given texts, and network_dropout as a number.
std::string network_args_json(const schema::Values& values) {
  nlohmann::ordered_json args = nlohmann::ordered_json::object();
  for (const std::string& item : values.texts("network_args")) {
    const size_t equals = item.find('=');
    if (equals != std::string::npos) args[item.substr(0, equals)] = item.substr(equals + 1);
  }
  if (!args.contains("dropout") && !values.flag("dim_from_weights")) {
    const std::optional<double> dropout = values.maybe_number("network_dropout");
    args["dropout"] = dropout ? nlohmann::ordered_json(*dropout) : nlohmann::ordered_json();
  }
  return python_json(args);
}

void add_file(Metadata& metadata, const FileFacts& file, const std::string& stem) {
  metadata["ss_" + stem + "_name"] = file.name;
  if (file.sha256.empty()) return;
  metadata["ss_" + stem + "_hash"] = file.legacy_hash;
  metadata["ss_new_" + stem + "_hash"] = file.sha256;
}

Metadata option_metadata(const schema::Values& values) {
  Metadata metadata;
  for (const Row& row : kRows) {
    const schema::Value& value = values.raw(row.option);
    metadata[row.key] = value.index() == 0 ? row.fallback : python_str(value);
  }
  if (values.has("lr_warmup_steps")) metadata["ss_lr_warmup_steps"] = warmup_text(values.raw("lr_warmup_steps"));
  // Adafactor drops the rates of the run; those of the parts are unset, too.
  if (metadata["ss_lr_scheduler"].starts_with("adafactor:")) metadata["ss_learning_rate"] = "None";
  metadata["ss_text_encoder_lr"] = text_encoder_lr(values);
  // Files of this program have no commit of sd-scripts; its readers show the text only.
  metadata["ss_sd_scripts_commit_hash"] = "cinnabar " CINNABAR_VERSION;
  if (!values.texts("network_args").empty()) metadata["ss_network_args"] = network_args_json(values);
  return metadata;
}

}  // namespace

FileFacts file_facts(const std::string& path, const std::string& known_sha256) {
  const std::filesystem::path file(path);
  if (std::filesystem::is_directory(file)) {
    const std::filesystem::path plain = file.has_filename() ? file : file.parent_path();  // without a trailing slash
    return {plain.filename().string(), "IsADirectory", "IsADirectory"};
  }
  if (!std::filesystem::exists(file)) return {file.is_absolute() ? file.filename().string() : path, {}, {}};
  return {file.filename().string(), formats::legacy_hash_of_file(file),
          known_sha256.empty() ? base::sha256_hex_of_file(file) : known_sha256};
}

std::string optimizer_text(const std::string& optimizer_class, const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& item : arguments) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    text += (text.empty() ? "" : ",") + item.substr(0, equals) + "=" + python_literal(item.substr(equals + 1));
  }
  return text.empty() ? optimizer_class : optimizer_class + "(" + text + ")";
}

Metadata training_metadata(const TrainingFacts& facts, const schema::Values& values, const SavePoint& save) {
  Metadata metadata = option_metadata(values);
  int64_t train_images = 0;
  int64_t regularisation_images = 0;
  for (const DatasetFacts& dataset : facts.datasets) {
    train_images += dataset.train_images;
    regularisation_images += dataset.regularisation_images;
  }
  metadata["ss_session_id"] = std::to_string(facts.session_id);
  metadata["ss_training_started_at"] = python_float(facts.started_at_s);
  metadata["ss_optimizer"] = optimizer_text(facts.optimizer_class, values.texts("optimizer_args"));
  metadata["ss_base_model_version"] = facts.base_model_version;
  // Found from the checkpoint, not told by the user.
  metadata["ss_v2"] = facts.base_model_version.starts_with("sd_v2") ? "True" : "False";
  metadata["ss_num_train_images"] = std::to_string(train_images);
  metadata["ss_num_validation_images"] = std::to_string(facts.validation_images);
  metadata["ss_num_reg_images"] = std::to_string(regularisation_images);
  metadata["ss_num_batches_per_epoch"] = std::to_string(facts.batches_per_epoch);
  metadata["ss_num_epochs"] = std::to_string(facts.epochs);
  metadata["ss_max_train_steps"] = std::to_string(facts.max_train_steps);
  if (facts.base_model) add_file(metadata, *facts.base_model, "sd_model");
  if (facts.vae) add_file(metadata, *facts.vae, "vae");
  for (auto& [key, text] : dataset_metadata(facts, values)) metadata[key] = std::move(text);
  if (values.flag("no_metadata")) {
    std::erase_if(metadata, [](const auto& entry) {
      return std::find(kMinimum.begin(), kMinimum.end(), entry.first) == kMinimum.end();
    });
  } else {
    metadata["ss_training_finished_at"] = python_float(save.finished_at_s);
    metadata["ss_steps"] = std::to_string(save.steps);
    metadata["ss_epoch"] = std::to_string(save.epoch);
    if (save.ema) metadata["cinnabar_ema"] = *save.ema;
  }
  metadata.merge(modelspec_metadata(facts, values, "lora", save.finished_at_s));
  return metadata;
}

}  // namespace cinnabar::adapters
