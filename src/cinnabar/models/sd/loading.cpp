#include "cinnabar/models/sd/loading.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "cinnabar/base/error.h"
#include "cinnabar/models/sd/file_names.h"

namespace cinnabar::models::sd {

namespace {

// Settings of a separate autoencoder stand at the top of its own configuration.
SideSettings vae_settings(const formats::Checkpoint& checkpoint) {
  const std::string& json = checkpoint.side_json();
  return {json.empty() || json.find("\"vae\"") != std::string::npos ? json : "{\"vae\": " + json + "}",
          checkpoint.path().string()};
}

// The target's own part of the views is kept, since it may be filled when the rest is gone.
std::function<void()> filling(const NamedViews& views, const LoadTarget& target, const FillOptions& options) {
  NamedViews own;
  for (auto it = views.lower_bound(target.prefix); it != views.end() && it->first.starts_with(target.prefix); ++it)
    own.insert(*it);
  return [own = std::move(own), target, options] {
    fill_target(own, target, options);
    if (options.source) options.source->check();
  };
}

}  // namespace

VaeSource::VaeSource(const formats::Checkpoint& checkpoint, const NamedViews& views, const LoadOptions& options)
    : other_(options.vae_path.empty() ? nullptr : formats::Checkpoint::open(options.vae_path)),
      other_views_(other_ ? vae_views(*other_) : NamedViews()),
      views_(other_ ? other_views_ : views),
      settings_(other_ ? vae_settings(*other_) : SideSettings(checkpoint.side_json(), checkpoint.path().string())),
      file_(other_ ? options.vae_path : checkpoint.path().string()) {}

nn::AutoencoderConfig VaeSource::config() const { return vae_config(views_, settings_, file_); }

std::optional<double> VaeSource::scaling_factor() const {
  // Published ones lie between 0.08 and 1.5.
  constexpr double kSmallest = 1e-3;
  constexpr double kLargest = 1e3;
  const std::optional<double> factor = settings_.number({"vae.scaling_factor"});
  if (factor && !(*factor >= kSmallest && *factor <= kLargest)) {
    char found[32];
    std::snprintf(found, sizeof found, "%g", *factor);
    throw base::Error(base::ErrorCode::Format, "configuration of " + file_ + ": vae.scaling_factor = " + found +
                                                   ": expected a number from 0.001 to 1000; 0.18215 for SD1 and SD2, "
                                                   "0.13025 for SDXL");
  }
  return factor;
}

void VaeSource::check(nn::AutoencoderKl& vae) const {
  check_targets(views_, std::vector<LoadTarget>{{.module = &vae, .prefix = kVaePrefix}}, file_, is_ignored);
}

std::function<void()> VaeSource::fill(nn::AutoencoderKl& vae, const LoadOptions& options) const {
  const LoadTarget target{.module = &vae, .prefix = kVaePrefix, .dtype = options.vae_dtype};
  return filling(views_, target, {.device = options.device, .source = other_ ? other_ : options.source});
}

PartFills check_parts(const formats::Checkpoint& checkpoint, const NamedViews& views,
                      const std::vector<PartTarget>& targets, const LoadOptions& options) {
  std::vector<LoadTarget> all;
  for (const PartTarget& target : targets) all.push_back(target.target);
  check_targets(views, all, checkpoint.path().string(), is_ignored);
  PartFills fills;
  for (const PartTarget& target : targets) {
    const bool is_denoiser = target.part == "unet";
    fills.emplace_back(target.part, filling(views, target.target,
                                            {.device = options.device,
                                             .source = options.source,
                                             .keeps_file_types = is_denoiser && options.keeps_file_types}));
  }
  return fills;
}

void fill_parts(UNetModel& model, PartFills fills, const LoadOptions& options) {
  // Without the file's owner the views end with the call of load.
  const bool is_lazy = options.is_lazy && options.source != nullptr;
  for (auto& [part, fill] : fills) {
    if (is_lazy) {
      model.fill_later(part, std::move(fill));
    } else {
      fill();
    }
  }
}

void check_fit(const nn::UNetConfig& unet, const nn::AutoencoderConfig& vae, int64_t text_width,
               const std::string& file) {
  if (unet.context_width != text_width) {
    throw base::Error(base::ErrorCode::Format, file + ": the U-Net expects text states of width " +
                                                   std::to_string(unet.context_width) + ", the text encoding gives " +
                                                   std::to_string(text_width));
  }
  if (unet.in_channels != vae.latent_channels) {
    throw base::Error(base::ErrorCode::Format, file + ": the U-Net takes " + std::to_string(unet.in_channels) +
                                                   " channels, the autoencoder's latents have " +
                                                   std::to_string(vae.latent_channels) +
                                                   " (inpainting and instruction models are not supported)");
  }
}

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

void read_sizes(ModelInfo& info, const formats::Checkpoint& checkpoint, const VaeSource& vae) {
  info.native_side_px = stated_side(checkpoint).value_or(info.native_side_px);
  info.latent_scale = vae.scaling_factor().value_or(info.latent_scale);
}

bool is_tiny_size(const InitOptions& options) {
  if (options.size != "tiny" && options.size != "full") {
    throw base::Error(base::ErrorCode::Config, "size \"" + options.size + "\": expected tiny or full");
  }
  return options.size == "tiny";
}

}  // namespace cinnabar::models::sd
