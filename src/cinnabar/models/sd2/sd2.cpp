// Stable Diffusion 2.x: registration, loading and random models. Text states of OpenCLIP ViT-H without its last layer;
// the 768 pixel models predict v.
#include <algorithm>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/assembly.h"
#include "cinnabar/models/sd/file_names.h"
#include "cinnabar/models/sd/loading.h"
#include "cinnabar/models/sd/open_clip_names.h"
#include "cinnabar/models/sd/sd_model.h"
#include "cinnabar/models/sd2/prediction.h"
#include "cinnabar/nn/initial_values.h"

namespace cinnabar::models::sd2 {

namespace {

using namespace sd;  // NOLINT: what the families share

const std::string kTextPrefix = "cond_stage_model.model.";
const std::string kResblocks = "transformer.resblocks.";
constexpr int64_t kHeadWidth = 64;
constexpr int64_t kUsedLayers = 23;  // of 24

ModelInfo sd2_info() {
  ModelInfo info;
  info.family = "sd2";
  info.base_model_version = "sd_v2";
  info.modelspec_architecture = "stable-diffusion-v2-512";
  info.modelspec_implementation = "diffusers";
  return info;
}

TextRule text_rule() { return {.prefix = kTextPrefix, .activation = "gelu"}; }
UNetRule unet_rule() { return {.head_width = kHeadWidth, .has_linear_projection = true}; }

SdText text_of(int64_t end_token) {
  return {.end_token = end_token, .padding = text::Padding::Zero, .file_prefix = kTextPrefix, .is_open_clip = true};
}

bool recognises(const formats::Checkpoint& checkpoint) {
  if (checkpoint.has_prefix(kTextPrefix) && has_unet(checkpoint)) return true;
  return is_diffusers(checkpoint) && checkpoint.has_prefix("text_encoder.") &&
         !checkpoint.has_prefix("text_encoder_2.") && !has_convolution_projection(checkpoint);
}

// Files have one layer more than is used, but for those that left it out.
int64_t used_layers(int64_t layers, const SideSettings& settings, const std::string& file) {
  const int64_t published = layers == kUsedLayers ? layers : layers - 1;
  const int64_t used = settings.integer({"text_encoder.num_layers_used"}).value_or(published);
  if (used < 1 || used > layers) {
    throw base::Error(base::ErrorCode::Format, file + ": " + std::to_string(used) +
                                                   " layers of the text encoder are used, but the file has " +
                                                   std::to_string(layers));
  }
  return used;
}

NamedViews all_views(const formats::Checkpoint& checkpoint, const SideSettings& settings, ModelInfo& info) {
  NamedViews views = picture_views(checkpoint, info.notes);
  if (is_diffusers(checkpoint)) {
    add_views(views, kTextPrefix, text_views(checkpoint, "text_encoder.", info.notes));
    return views;
  }
  const NamedViews text = views_below(checkpoint, kTextPrefix);
  const int64_t layers = used_layers(count_indices(text, kResblocks), settings, checkpoint.path().string());
  add_views(views, kTextPrefix, from_open_clip(text, layers));
  return views;
}

std::unique_ptr<DiffusionModel> load(const formats::Checkpoint& checkpoint, const LoadOptions& options) {
  const std::string file = checkpoint.path().string();
  ModelInfo info = sd2_info();
  const SideSettings settings(checkpoint.side_json(), file);
  const NamedViews views = all_views(checkpoint, settings, info);
  const VaeSource vae(checkpoint, views, options);

  SdConfig config;
  config.unet = unet_config(views, settings, file, unet_rule());
  config.text = text_config(views, settings, file, text_rule());
  config.vae = vae.config();
  config.end_token = end_token_of(config.text, settings, text_rule());
  check_fit(config.unet, config.vae, config.text.width, file);
  set_objective(info, checkpoint, settings, options);
  read_prediction(info, views, options);
  read_sizes(info, checkpoint, vae);

  return assemble(checkpoint, views, vae, config, std::move(info), text_of(config.end_token), options);
}

SdConfig full_config() {
  SdConfig config = sd::full_config();
  config.text = {
      .width = 1024, .layers = kUsedLayers, .heads = 16, .feed_width = 4096, .activation = nn::Activation::Gelu};
  config.unet.context_width = 1024;
  config.unet.has_linear_projection = true;
  for (nn::UNetLevel& level : config.unet.levels) level.heads = level.width / kHeadWidth;
  config.unet.middle_heads = config.unet.levels.back().heads;
  return config;
}

SdConfig tiny_config() {
  SdConfig config = sd::tiny_config();
  config.text.activation = nn::Activation::Gelu;
  config.unet.has_linear_projection = true;
  for (nn::UNetLevel& level : config.unet.levels) level.heads = std::max<int64_t>(1, level.width / kHeadWidth);
  config.unet.middle_heads = config.unet.levels.back().heads;
  return config;
}

std::unique_ptr<DiffusionModel> create(const InitOptions& options) {
  const bool is_tiny = is_tiny_size(options);
  const SdConfig config = is_tiny ? tiny_config() : full_config();
  SdParts parts = make_parts(config);
  nn::set_initial_values(*parts.text, kTextPrefix, options.seed);
  nn::set_initial_values(*parts.unet, kUNetPrefix, options.seed);
  nn::set_initial_values(*parts.vae, kVaePrefix, options.seed);
  ModelInfo info = sd2_info();
  if (is_tiny) info.native_side_px = kTinySidePx;
  return std::make_unique<SdModel>(std::move(info), std::move(parts), text_of(config.end_token));
}

CINNABAR_REGISTER_MODEL_FAMILY(sd2, {.help = "Stable Diffusion 2.x (cond_stage_model.model. and "
                                             "model.diffusion_model., or a diffusers folder with one text encoder)",
                                     .recognises = recognises,
                                     .load = load,
                                     .create = create});

}  // namespace

}  // namespace cinnabar::models::sd2
