#include "cinnabar/schema/kohya_keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cinnabar::schema {

namespace {

using Keys = std::vector<std::string_view>;

const Keys& block_keys() {
  static const Keys kKeys = {"down_lr_weight",
                             "mid_lr_weight",
                             "up_lr_weight",
                             "block_lr_zero_threshold",
                             "block_dims",
                             "block_alphas",
                             "conv_block_dims",
                             "conv_block_alphas",
                             "rank_dropout",
                             "module_dropout",
                             "loraplus_lr_ratio",
                             "loraplus_unet_lr_ratio",
                             "loraplus_text_encoder_lr_ratio"};
  return kKeys;
}

Keys with(const Keys& base, std::initializer_list<std::string_view> more) {
  Keys keys = base;
  keys.insert(keys.end(), more);
  return keys;
}

const Keys& lycoris_keys() {
  static const Keys kKeys = {"conv_dim",       "conv_alpha",    "use_tucker", "use_cp",     "factor",
                             "decompose_both", "bypass_mode",   "dora_wd",    "use_scalar", "rank_dropout_scale",
                             "train_norm",     "constrain",     "rescaled",   "unit",       "rank_dropout",
                             "module_dropout", "train_on_input"};
  return kKeys;
}

std::vector<KohyaNetwork> make_networks() {
  const Keys dropouts = {"rank_dropout", "module_dropout", "loraplus_lr_ratio", "loraplus_unet_lr_ratio",
                         "loraplus_text_encoder_lr_ratio"};
  const Keys flux = with(
      dropouts, {"img_attn_dim", "txt_attn_dim", "img_mlp_dim", "txt_mlp_dim", "img_mod_dim", "txt_mod_dim",
                 "single_dim", "single_mod_dim", "in_dims", "train_double_block_indices", "train_single_block_indices",
                 "split_qkv", "train_blocks", "train_t5xxl", "ggpo_sigma", "ggpo_beta"});
  const Keys kohya_loha = {"conv_dim", "conv_alpha", "use_tucker", "factor", "rank_dropout", "module_dropout"};
  std::vector<KohyaNetwork> networks = {
      {"Standard", "networks.lora", "", block_keys()},
      {"Kohya LoCon", "networks.lora", "", with(block_keys(), {"conv_dim", "conv_alpha"})},
      {"LoRA-FA", "networks.lora_fa", "", block_keys()},
      {"Kohya DyLoRA", "networks.dylora", "", with(block_keys(), {"conv_dim", "conv_alpha", "unit"})},
      {"Flux1", "networks.lora_flux", "", flux},
      {"Flux1 OFT", "networks.oft_flux", "", {"enable_all_linear"}},
      {"HunyuanImage-2.1", "networks.lora_hunyuan_image", "", dropouts},
      {"Anima", "networks.lora_anima", "", dropouts},
      {"Lumina", "networks.lora_lumina", "", dropouts},
      {"Kohya LoHa", "networks.loha", "", kohya_loha},
      {"Kohya LoKr", "networks.lokr", "", kohya_loha},
  };
  const std::array<std::pair<std::string_view, std::string_view>, 9> lycoris = {
      {{"LyCORIS/BOFT", "boft"},
       {"LyCORIS/Diag-OFT", "diag-oft"},
       {"LyCORIS/DyLoRA", "dylora"},
       {"LyCORIS/GLoRA", "glora"},
       {"LyCORIS/iA3", "ia3"},
       {"LyCORIS/LoCon", "locon"},
       {"LyCORIS/LoHa", "loha"},
       {"LyCORIS/LoKr", "lokr"},
       {"LyCORIS/Native Fine-Tuning", "full"}}};
  for (const auto& [type, algo] : lycoris) networks.push_back({type, "lycoris.kohya", algo, lycoris_keys()});
  return networks;
}

const std::vector<KohyaNetwork>& networks() {
  static const std::vector<KohyaNetwork> kNetworks = make_networks();
  return kNetworks;
}

constexpr std::string_view kLauncher = "an argument of accelerate launch; this program starts by itself";
constexpr std::string_view kGuiOnly = "the GUI keeps it for itself and passes it to no script";
constexpr std::string_view kFamily = "the model family is found from the checkpoint";
constexpr std::string_view kOther = "a setting of another model family";
constexpr std::string_view kFinetune = "a step of the fine-tuning tab that has no meaning here";

struct Ignored {
  std::string_view key;
  std::string_view why;
};

constexpr Ignored kIgnored[] = {
    {"num_processes", kLauncher},
    {"num_machines", kLauncher},
    {"num_cpu_threads_per_process", kLauncher},
    {"dynamo_backend", kLauncher},
    {"dynamo_mode", kLauncher},
    {"dynamo_use_fullgraph", kLauncher},
    {"dynamo_use_dynamic", kLauncher},
    {"multi_gpu", kLauncher},
    {"gpu_ids", kLauncher},
    {"main_process_port", kLauncher},
    {"extra_accelerate_launch_args", kLauncher},
    {"model_list", kGuiOnly},
    {"training_preset", kGuiOnly},
    {"lowvram", kGuiOnly},
    {"train_lora_ggpo", kGuiOnly},
    {"save_as_bool", kGuiOnly},
    {"template", "a setting of textual inversion"},
    {"use_wandb", "tracking by wandb is not supported yet"},
    {"no_token_padding", kGuiOnly},
    {"sdxl", kFamily},
    {"sdxl_checkbox", kFamily},
    {"flux1_checkbox", kFamily},
    {"sd3_checkbox", kFamily},
    {"hunyuan_image_checkbox", kFamily},
    {"anima_checkbox", kFamily},
    {"lumina_checkbox", kFamily},
    {"t5xxl_lr", kOther},
    {"stop_text_encoder_training", "the GUI forwards it from the DreamBooth tab alone"},
    {"stop_text_encoder_training_pct", "an old key without effect"},
    {"conv_dims", "an old key without effect"},
    {"conv_alphas", "an old key without effect"},
    {"create_caption", kFinetune},
    {"create_buckets", kFinetune},
    {"generate_caption_database", kFinetune},
    {"generate_image_buckets", kFinetune},
    {"use_latent_files", kFinetune},
    {"caption_metadata_filename", kFinetune},
    {"latent_metadata_filename", kFinetune},
    {"full_path", kFinetune},
    {"train_dir", kFinetune},
    {"batch_size", kFinetune},
};

constexpr std::string_view kFamilyPrefixes[] = {"flux1_", "flux_",   "sd3_",    "sdxl_", "hunyuan_",
                                                "anima_", "lumina_", "lllite_", "leco_", "chroma_"};

}  // namespace

const std::vector<KohyaRename>& kohya_renames() {
  static const std::vector<KohyaRename> kRenames = {{"max_resolution", "resolution"},
                                                    {"optimizer", "optimizer_type"},
                                                    {"sdxl_no_half_vae", "no_half_vae"},
                                                    {"image_folder", "train_data_dir"},
                                                    {"lora_network_weights", "network_weights"},
                                                    {"sdxl_cache_text_encoder_outputs", "cache_text_encoder_outputs"}};
  return kRenames;
}

std::optional<std::string_view> kohya_ignored(std::string_view key) {
  for (const Ignored& ignored : kIgnored) {
    if (ignored.key == key) return ignored.why;
  }
  for (const std::string_view prefix : kFamilyPrefixes) {
    if (key.starts_with(prefix)) return kOther;
  }
  return std::nullopt;
}

const KohyaNetwork* kohya_network(std::string_view lora_type) {
  if (lora_type == "LoCon") lora_type = "LyCORIS/LoCon";
  for (const KohyaNetwork& network : networks()) {
    if (network.lora_type == lora_type) return &network;
  }
  return nullptr;
}

bool is_kohya_network_key(std::string_view key) {
  return std::any_of(networks().begin(), networks().end(), [&](const KohyaNetwork& network) {
    return std::find(network.arguments.begin(), network.arguments.end(), key) != network.arguments.end();
  });
}

std::string_view kohya_argument_name(std::string_view key, std::string_view module) {
  if (key == "constrain") return "constraint";
  if (key == "use_cp") return "use_tucker";
  if (key == "unit" && module == "lycoris.kohya") return "block_size";
  return key;
}

const std::vector<KohyaDefault>& kohya_lora_defaults() {
  static const std::vector<KohyaDefault> kDefaults = {{"bucket_no_upscale", "true"},
                                                      {"cache_latents", "true"},
                                                      {"caption_extension", "\".txt\""},
                                                      {"clip_skip", "1"},
                                                      {"enable_bucket", "true"},
                                                      {"epoch", "1"},
                                                      {"learning_rate", "0.0001"},
                                                      {"lr_scheduler", "\"cosine\""},
                                                      {"lr_warmup", "10"},
                                                      {"max_bucket_reso", "2048"},
                                                      {"max_data_loader_n_workers", "0"},
                                                      {"max_resolution", "\"512,512\""},
                                                      {"max_token_length", "75"},
                                                      {"max_train_steps", "1600"},
                                                      {"mixed_precision", "\"fp16\""},
                                                      {"network_alpha", "1"},
                                                      {"network_dim", "8"},
                                                      {"optimizer", "\"AdamW8bit\""},
                                                      {"sample_sampler", "\"euler_a\""},
                                                      {"save_every_n_epochs", "1"},
                                                      {"text_encoder_lr", "0.0001"},
                                                      {"unet_lr", "0.0001"}};
  return kDefaults;
}

}  // namespace cinnabar::schema
