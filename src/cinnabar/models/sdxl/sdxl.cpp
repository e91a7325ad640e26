// Stable Diffusion XL base models: registration, loading and random models.
#include <cmath>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/file_names.h"
#include "cinnabar/models/sd/loading.h"
#include "cinnabar/models/sd/open_clip_names.h"
#include "cinnabar/models/sdxl/sdxl_model.h"
#include "cinnabar/nn/initial_values.h"
#include "cinnabar/tensor/fill.h"

namespace cinnabar::models::sdxl {

namespace {

// A linear layer's weight, as folders and some single files have the projection of pooled states.
const std::string kLinearProjection = "text_projection.weight";
const std::string kProjection = "text_projection";

ModelInfo sdxl_info() {
  ModelInfo info;
  info.family = "sdxl";
  info.base_model_version = "sdxl_base_v1-0";
  info.modelspec_architecture = "stable-diffusion-xl-v1-base";
  info.modelspec_implementation = "https://github.com/Stability-AI/generative-models";
  info.latent_scale = 0.13025;
  info.native_side_px = 1024;
  info.bucket_step_px = 32;
  return info;
}

bool recognises(const formats::Checkpoint& checkpoint) {
  if (checkpoint.has_prefix(kText2Prefix) && sd::has_unet(checkpoint)) return true;
  return sd::is_diffusers(checkpoint) && checkpoint.has_prefix("text_encoder.") &&
         checkpoint.has_prefix("text_encoder_2.");
}

sd::TextRule text1_rule() { return {.prefix = kText1Prefix, .sections = {"text_encoder_1", "text_encoder"}}; }
sd::TextRule text2_rule() { return {.prefix = kText2Prefix, .sections = {"text_encoder_2"}, .activation = "gelu"}; }

// The checkpoint's tensors under our names.
struct Source {
  NamedViews views;
  bool is_linear_projection = false;
};

Source read_source(const formats::Checkpoint& checkpoint, ModelInfo& info) {
  Source source{.views = sd::picture_views(checkpoint, info.notes)};
  const bool is_folder = sd::is_diffusers(checkpoint);
  add_views(source.views, kText1Prefix,
            sd::text_views(checkpoint, is_folder ? "text_encoder." : kText1Prefix, info.notes));
  NamedViews second =
      is_folder ? sd::text_views(checkpoint, "text_encoder_2.", info.notes) : views_below(checkpoint, kText2Prefix);
  const bool has_plain = second.contains(kProjection);
  source.is_linear_projection = !has_plain && second.contains(kLinearProjection);
  if (!has_plain && !source.is_linear_projection) {
    throw base::Error(base::ErrorCode::Format, checkpoint.path().string() + ": the second text encoder has no tensor " +
                                                   kProjection + " (or " + kLinearProjection +
                                                   "), which SDXL needs for its pooled text");
  }
  const formats::TensorView projection = second.at(has_plain ? kProjection : kLinearProjection);
  if (!is_folder) second = sd::from_open_clip(second, count_indices(second, "transformer.resblocks."));
  second.erase(kLinearProjection);
  second[kProjection] = projection;
  add_views(source.views, kText2Prefix, second);
  return source;
}

// Playground 2.5 and the like: other noise levels than the table's, so neither training nor pictures would be right.
void refuse_edm(const formats::Checkpoint& checkpoint) {
  for (const char* name : {"edm_mean", "edm_vpred.sigma_max"}) {
    if (checkpoint.find(name) == nullptr) continue;
    throw base::Error(base::ErrorCode::Format, checkpoint.path().string() + ": the tensor " + name +
                                                   " says that this is an SDXL model with EDM noise levels, which are "
                                                   "not supported: use a model that predicts the noise or v");
  }
}

SdxlConfig read_config(const Source& source, const SideSettings& settings, const sd::VaeSource& vae,
                       const std::string& file) {
  SdxlConfig config;
  config.unet =
      sd::unet_config(source.views, settings, file, {.head_width = kHeadWidth, .has_linear_projection = true});
  config.text1 = sd::text_config(source.views, settings, file, text1_rule());
  config.text2 = sd::text_config(source.views, settings, file, text2_rule());
  config.vae = vae.config();
  config.end_token2 = sd::end_token_of(config.text2, settings, text2_rule());
  config.pooled_width = size_of(source.views, {kText2Prefix + kProjection}, source.is_linear_projection ? 0 : 1, file);
  sd::check_fit(config.unet, config.vae, config.text1.width + config.text2.width, file);
  const int64_t sizes = config.unet.vector_width - config.pooled_width;
  if (sizes <= 0 || sizes % 12 != 0) {
    throw base::Error(base::ErrorCode::Format,
                      file + ": the U-Net's vector of width " + std::to_string(config.unet.vector_width) +
                          " does not hold the pooled text of width " + std::to_string(config.pooled_width) +
                          " and six embedded sizes: not an SDXL base model");
  }
  return config;
}

std::unique_ptr<DiffusionModel> load(const formats::Checkpoint& checkpoint, const LoadOptions& options) {
  const std::string file = checkpoint.path().string();
  refuse_edm(checkpoint);
  ModelInfo info = sdxl_info();
  const Source source = read_source(checkpoint, info);
  const SideSettings settings(checkpoint.side_json(), file);
  const sd::VaeSource vae(checkpoint, source.views, options);
  const SdxlConfig config = read_config(source, settings, vae, file);
  sd::set_objective(info, checkpoint, settings, options);
  sd::read_sizes(info, checkpoint, vae);

  // A linear layer's weight is understood by everybody; the switch is for what open_clip stores.
  const bool is_turned = options.has_sdscripts_projection && !source.is_linear_projection;
  if (is_turned) info.notes.push_back("the text projection of the file is used as sd-scripts does, not transposed");
  const int64_t rows = size_of(source.views, {kText2Prefix + kProjection}, 0, file);
  const int64_t columns = size_of(source.views, {kText2Prefix + kProjection}, 1, file);
  SdxlParts parts{.text1 = std::make_unique<nn::ClipText>(config.text1),
                  .text2 = std::make_unique<PooledClipText>(config.text2, rows, columns, is_turned),
                  .unet = std::make_unique<nn::UNet>(config.unet),
                  .vae = std::make_unique<nn::AutoencoderKl>(config.vae)};
  sd::PartFills fills = sd::check_parts(
      checkpoint, source.views,
      {{"text_encoder", {.module = parts.text1.get(), .prefix = kText1Prefix, .dtype = options.dtype}},
       {"text_encoder_2", {.module = parts.text2.get(), .prefix = kText2Prefix, .dtype = options.dtype}},
       {"unet", {.module = parts.unet.get(), .prefix = sd::kUNetPrefix, .dtype = options.dtype}}},
      options);
  if (source.is_linear_projection) {
    fills[1].second = [fill = std::move(fills[1].second), text2 = parts.text2.get()] {
      fill();
      text2->transpose_projection();
    };
  }
  vae.check(*parts.vae);
  fills.emplace_back("vae", vae.fill(*parts.vae, options));
  auto model = std::make_unique<SdxlModel>(std::move(info), std::move(parts), config);
  sd::fill_parts(*model, std::move(fills), options);
  checkpoint.check();
  return model;
}

std::unique_ptr<DiffusionModel> create(const InitOptions& options) {
  const bool is_tiny = sd::is_tiny_size(options);
  const SdxlConfig config = is_tiny ? tiny_config() : full_config();
  SdxlParts parts{
      .text1 = std::make_unique<nn::ClipText>(config.text1),
      .text2 = std::make_unique<PooledClipText>(config.text2, config.text2.width, config.pooled_width, false),
      .unet = std::make_unique<nn::UNet>(config.unet),
      .vae = std::make_unique<nn::AutoencoderKl>(config.vae)};
  nn::set_initial_values(*parts.text1, kText1Prefix, options.seed);
  nn::set_initial_values(*parts.text2, kText2Prefix, options.seed);
  nn::set_initial_values(*parts.unet, sd::kUNetPrefix, options.seed);
  nn::set_initial_values(*parts.vae, sd::kVaePrefix, options.seed);
  tensor::fill_normal_blocks(parts.text2->projection(),
                             {.seed = options.seed, .item = tensor::name_key(kText2Prefix + kProjection)},
                             1.0F / std::sqrt(static_cast<float>(config.text2.width)));
  ModelInfo info = sdxl_info();
  if (is_tiny) info.native_side_px = sd::kTinySidePx;
  return std::make_unique<SdxlModel>(std::move(info), std::move(parts), config);
}

CINNABAR_REGISTER_MODEL_FAMILY(sdxl, {.help = "Stable Diffusion XL base (conditioner.embedders.1.model. and "
                                              "model.diffusion_model., or a diffusers folder with two text encoders)",
                                      .recognises = recognises,
                                      .load = load,
                                      .create = create});

}  // namespace

}  // namespace cinnabar::models::sdxl
