#include "models/small_model.h"

#include <ATen/ATen.h>

#include "cinnabar/models/model_family.h"
#include "cinnabar/nn/initial_values.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::models::sd {

SdConfig small_config() {
  SdConfig config;
  config.unet = {.model_channels = 16,
                 .time_width = 32,
                 .levels = {{.width = 16, .res_blocks = 1}, {.width = 32, .res_blocks = 2, .depth = 1}},
                 .context_width = 12,
                 .groups = 4};
  config.vae = {.levels = {{.width = 8, .encoder_blocks = 1, .decoder_blocks = 2},
                           {.width = 16, .encoder_blocks = 1, .decoder_blocks = 2}},
                .groups = 2};
  config.text = {.vocabulary = 50, .positions = 9, .width = 12, .layers = 2, .heads = 1, .feed_width = 24};
  config.end_token = 49;
  return config;
}

std::unique_ptr<SdModel> small_model(uint64_t seed) {
  const SdConfig config = small_config();
  SdParts parts{.text = std::make_unique<nn::ClipText>(config.text),
                .unet = std::make_unique<nn::UNet>(config.unet),
                .vae = std::make_unique<nn::AutoencoderKl>(config.vae)};
  nn::set_initial_values(*parts.text, "text", seed);
  nn::set_initial_values(*parts.unet, "unet", seed);
  nn::set_initial_values(*parts.vae, "vae", seed);
  ModelInfo info;
  info.family = "sd1";
  return std::make_unique<SdModel>(
      info, std::move(parts), SdText{.end_token = config.end_token, .file_prefix = "cond_stage_model.transformer."});
}

void MemoryCheckpoint::set(const std::string& name, const at::Tensor& value) {
  kept_[name] = value.detach().contiguous();
  tensors_[name] = tensor::view_of(kept_[name]);
}

std::unique_ptr<MemoryCheckpoint> checkpoint_of(DiffusionModel& model,
                                                const std::function<std::string(const std::string&)>& rename) {
  auto checkpoint = std::make_unique<MemoryCheckpoint>();
  for (const auto& [name, value] : file_tensors(model)) {
    const std::string new_name = rename ? rename(name) : name;
    if (!new_name.empty()) checkpoint->set(new_name, value);
  }
  return checkpoint;
}

std::unique_ptr<DiffusionModel> load_sd1(const formats::Checkpoint& checkpoint, const LoadOptions& options) {
  return model_families().at("sd1").load(checkpoint, options);
}

}  // namespace cinnabar::models::sd
