// Steps of loading that the Stable Diffusion families share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/config.h"
#include "cinnabar/models/sd/unet_model.h"

namespace cinnabar::models::sd {

// The autoencoder of a checkpoint, or the separate one that the options name.
class VaeSource {
 public:
  // `views`: those of the checkpoint (picture_views), which must outlive this. Throws as opening a checkpoint does.
  VaeSource(const formats::Checkpoint& checkpoint, const NamedViews& views, const LoadOptions& options);

  nn::AutoencoderConfig config() const;
  std::optional<double> scaling_factor() const;
  void check(nn::AutoencoderKl& vae) const;
  // What reads its weights; valid as long as the module and, without LoadOptions::source, the checkpoint live.
  std::function<void()> fill(nn::AutoencoderKl& vae, const LoadOptions& options) const;

 private:
  std::shared_ptr<const formats::Checkpoint> other_;
  NamedViews other_views_;
  const NamedViews& views_;
  SideSettings settings_;
  std::string file_;
};

// A text encoder or the U-Net, under the name of its part.
struct PartTarget {
  std::string part;
  LoadTarget target{};
};

// What fills each part, the autoencoder as "vae". All are checked here.
using PartFills = std::vector<std::pair<std::string, std::function<void()>>>;
PartFills check_parts(const formats::Checkpoint& checkpoint, const NamedViews& views,
                      const std::vector<PartTarget>& targets, const LoadOptions& options);

// Fills the parts, or leaves them to their first use (LoadOptions::is_lazy).
void fill_parts(UNetModel& model, PartFills fills, const LoadOptions& options);

// Throws Error{Format} when parts do not belong together. `text_width` of all text encoders' states together.
void check_fit(const nn::UNetConfig& unet, const nn::AutoencoderConfig& vae, int64_t text_width,
               const std::string& file);

// "512x768" of modelspec.resolution as one side of the same area, in multiples of 8; nothing when it is no such text.
std::optional<int64_t> stated_side(const formats::Checkpoint& checkpoint);

// Native side and latent scale where the files say something else than the family's own, which `info` has.
void read_sizes(ModelInfo& info, const formats::Checkpoint& checkpoint, const VaeSource& vae);

// Throws Error{Config} unless the size is tiny or full. True for tiny.
bool is_tiny_size(const InitOptions& options);
// The side of pictures of tiny models.
inline constexpr int64_t kTinySidePx = 64;

}  // namespace cinnabar::models::sd
