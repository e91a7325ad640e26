// Stable Diffusion 1.x: registration, loading and random models.
#include <utility>

#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/assembly.h"
#include "cinnabar/models/sd/file_names.h"
#include "cinnabar/models/sd/loading.h"
#include "cinnabar/models/sd/sd_model.h"
#include "cinnabar/nn/initial_values.h"

namespace cinnabar::models::sd {

namespace {

ModelInfo sd1_info() {
  ModelInfo info;
  info.family = "sd1";
  info.base_model_version = "sd_v1";
  info.modelspec_architecture = "stable-diffusion-v1";
  info.modelspec_implementation = "diffusers";
  return info;
}

bool recognises(const formats::Checkpoint& checkpoint) {
  if (checkpoint.has_prefix(kTextPrefix) && has_unet(checkpoint)) return true;
  return is_diffusers(checkpoint) && checkpoint.has_prefix("text_encoder.") &&
         !checkpoint.has_prefix("text_encoder_2.") && has_convolution_projection(checkpoint);
}

SdText text_of(int64_t end_token) { return {.end_token = end_token, .file_prefix = kTextPrefix}; }

std::unique_ptr<DiffusionModel> load(const formats::Checkpoint& checkpoint, const LoadOptions& options) {
  const std::string file = checkpoint.path().string();
  ModelInfo info = sd1_info();
  NamedViews views = picture_views(checkpoint, info.notes);
  add_views(views, kTextPrefix,
            text_views(checkpoint, is_diffusers(checkpoint) ? "text_encoder." : kTextPrefix, info.notes));
  const SideSettings settings(checkpoint.side_json(), file);
  const VaeSource vae(checkpoint, views, options);
  const TextRule text_rule{.prefix = kTextPrefix};

  SdConfig config;
  config.unet = unet_config(views, settings, file, {});
  config.text = text_config(views, settings, file, text_rule);
  config.vae = vae.config();
  config.end_token = end_token_of(config.text, settings, text_rule);
  check_fit(config.unet, config.vae, config.text.width, file);
  set_objective(info, checkpoint, settings, options);
  read_sizes(info, checkpoint, vae);
  if (info.objective == Objective::Velocity) info.base_model_version += "_v";  // as sd-scripts names such files

  return assemble(checkpoint, views, vae, config, std::move(info), text_of(config.end_token), options);
}

std::unique_ptr<DiffusionModel> create(const InitOptions& options) {
  const bool is_tiny = is_tiny_size(options);
  const SdConfig config = is_tiny ? tiny_config() : full_config();
  SdParts parts = make_parts(config);
  nn::set_initial_values(*parts.text, kTextPrefix, options.seed);
  nn::set_initial_values(*parts.unet, kUNetPrefix, options.seed);
  nn::set_initial_values(*parts.vae, kVaePrefix, options.seed);
  ModelInfo info = sd1_info();
  if (is_tiny) info.native_side_px = kTinySidePx;
  return std::make_unique<SdModel>(std::move(info), std::move(parts), text_of(config.end_token));
}

CINNABAR_REGISTER_MODEL_FAMILY(sd1, {.help = "Stable Diffusion 1.x (cond_stage_model.transformer. and "
                                             "model.diffusion_model., or a diffusers folder with one text encoder)",
                                     .recognises = recognises,
                                     .load = load,
                                     .create = create});

}  // namespace

}  // namespace cinnabar::models::sd
