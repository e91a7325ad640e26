// Stable Diffusion 1.x: registration, loading and random models.
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/config.h"
#include "cinnabar/models/sd/file_names.h"
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

// In diffusers folders SD 1 and SD 2 differ in the projections of the transformers: 1x1 convolutions or matrices.
bool has_convolution_projection(const formats::Checkpoint& checkpoint) {
  for (const auto& [name, view] : checkpoint.tensors()) {
    if (name.starts_with("unet.") && name.ends_with(".proj_in.weight")) return view.shape.size() == 4;
  }
  return false;
}

bool recognises(const formats::Checkpoint& checkpoint) {
  if (checkpoint.has_prefix(kTextPrefix) && checkpoint.has_prefix(kUNetPrefix)) return true;
  return checkpoint.has_prefix("unet.") && checkpoint.has_prefix("text_encoder.") &&
         !checkpoint.has_prefix("text_encoder_2.") && has_convolution_projection(checkpoint);
}

SdParts make_parts(const SdConfig& config) {
  return {.text = std::make_unique<nn::ClipText>(config.text),
          .unet = std::make_unique<nn::UNet>(config.unet),
          .vae = std::make_unique<nn::AutoencoderKl>(config.vae)};
}

// Settings of a separate autoencoder stand at the top of its own configuration.
SideSettings vae_settings(const formats::Checkpoint& checkpoint) {
  const std::string& json = checkpoint.side_json();
  return {json.empty() || json.find("\"vae\"") != std::string::npos ? json : "{\"vae\": " + json + "}",
          checkpoint.path().string()};
}

void check_fit(const SdConfig& config, const std::string& file) {
  if (config.unet.context_width != config.text.width) {
    throw base::Error(base::ErrorCode::Format, file + ": the U-Net expects text states of width " +
                                                   std::to_string(config.unet.context_width) +
                                                   ", the text encoder gives " + std::to_string(config.text.width));
  }
  if (config.unet.in_channels != config.vae.latent_channels) {
    throw base::Error(base::ErrorCode::Format, file + ": the U-Net takes " + std::to_string(config.unet.in_channels) +
                                                   " channels, the autoencoder's latents have " +
                                                   std::to_string(config.vae.latent_channels) +
                                                   " (inpainting and instruction models are not supported)");
  }
}

// "512x768" of modelspec.resolution as one side of the same area, in multiples of 8; nothing when it is no such text.
std::optional<int64_t> stated_side(const formats::Checkpoint& checkpoint) {
  const auto found = checkpoint.metadata().find("modelspec.resolution");
  if (found == checkpoint.metadata().end()) return std::nullopt;
  const char* end = found->second.data() + found->second.size();
  int64_t width = 0;
  int64_t height = 0;
  const auto first = std::from_chars(found->second.data(), end, width);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != 'x') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, height);
  if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
  constexpr int64_t kLargest = 4096;  // what is beyond is no size of a picture
  if (width < 8 || height < 8 || width > kLargest || height > kLargest) return std::nullopt;
  return static_cast<int64_t>(std::sqrt(static_cast<double>(width * height))) / 8 * 8;
}

std::unique_ptr<DiffusionModel> load(const formats::Checkpoint& checkpoint, const LoadOptions& options) {
  const std::string file = checkpoint.path().string();
  ModelInfo info = sd1_info();
  const NamedViews views = single_file_views(checkpoint, info.notes);
  const SideSettings settings(checkpoint.side_json(), file);

  std::unique_ptr<formats::Checkpoint> other;
  NamedViews other_views;
  if (!options.vae_path.empty()) {
    other = formats::Checkpoint::open(options.vae_path);
    other_views = vae_views(*other);
  }
  const std::string& vae_file = other ? options.vae_path : file;
  const SideSettings& vae_side = other ? vae_settings(*other) : SideSettings(checkpoint.side_json(), file);

  SdConfig config;
  config.unet = unet_config(views, settings, file);
  config.text = text_config(views, settings, file);
  config.vae = vae_config(other ? other_views : views, vae_side, vae_file);
  config.end_token = settings.integer({"text_encoder.eos_token_id"}).value_or(config.text.vocabulary - 1);
  check_fit(config, file);
  set_objective(info, checkpoint, settings, options);
  if (info.objective == Objective::Velocity) info.base_model_version += "_v";  // as sd-scripts names such files
  info.native_side_px = stated_side(checkpoint).value_or(info.native_side_px);
  info.latent_scale = vae_side.number({"vae.scaling_factor"}).value_or(info.latent_scale);

  SdParts parts = make_parts(config);
  const std::vector<LoadTarget> targets{{.module = parts.text.get(), .prefix = kTextPrefix, .dtype = options.dtype},
                                        {.module = parts.unet.get(), .prefix = kUNetPrefix, .dtype = options.dtype}};
  load_targets(views, targets, options.device, file, is_ignored);
  const std::vector<LoadTarget> vae{{.module = parts.vae.get(), .prefix = kVaePrefix, .dtype = options.vae_dtype}};
  load_targets(other ? other_views : views, vae, options.device, vae_file, is_ignored);
  checkpoint.check();
  if (other) other->check();
  return std::make_unique<SdModel>(std::move(info), std::move(parts), config.end_token);
}

std::unique_ptr<DiffusionModel> create(const InitOptions& options) {
  if (options.size != "tiny" && options.size != "full") {
    throw base::Error(base::ErrorCode::Config, "size \"" + options.size + "\": expected tiny or full");
  }
  const bool is_tiny = options.size == "tiny";
  const SdConfig config = is_tiny ? tiny_config() : full_config();
  SdParts parts = make_parts(config);
  nn::set_initial_values(*parts.text, kTextPrefix, options.seed);
  nn::set_initial_values(*parts.unet, kUNetPrefix, options.seed);
  nn::set_initial_values(*parts.vae, kVaePrefix, options.seed);
  ModelInfo info = sd1_info();
  if (is_tiny) info.native_side_px = 64;
  return std::make_unique<SdModel>(std::move(info), std::move(parts), config.end_token);
}

CINNABAR_REGISTER_MODEL_FAMILY(sd1, {.help = "Stable Diffusion 1.x (cond_stage_model.transformer. and "
                                             "model.diffusion_model., or a diffusers folder with one text encoder)",
                                     .recognises = recognises,
                                     .load = load,
                                     .create = create});

}  // namespace

}  // namespace cinnabar::models::sd
