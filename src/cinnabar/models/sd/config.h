// What the tensors and side settings of a checkpoint of the Stable Diffusion families say of the model (design.md 1.3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/named_views.h"
#include "cinnabar/models/side_settings.h"
#include "cinnabar/nn/autoencoder_kl.h"
#include "cinnabar/nn/clip_text.h"
#include "cinnabar/nn/unet.h"

namespace cinnabar::models::sd {

struct SdConfig {
  nn::UNetConfig unet;
  nn::AutoencoderConfig vae;
  nn::ClipTextConfig text;
  int64_t end_token = 49407;
};

// What a family's published U-Nets have, and no tensor tells.
struct UNetRule {
  std::optional<int64_t> head_width{};  // heads = width / head_width; unset: 8 heads at every level
  bool has_linear_projection = false;
};

// The same of a text encoder, and where its tensors and settings are.
struct TextRule {
  std::string prefix;                                 // of its views: "cond_stage_model.transformer."
  std::vector<std::string> sections{"text_encoder"};  // of side settings, the first that has one counts
  std::string activation = "quick_gelu";
};

// Names are those of our modules. Sizes come from shapes; head and group counts and the activation from the settings,
// else from the published models' rules: groups = min(32, width of the first level / 4), text heads = width / 64, and
// the family's own. Throw Error{Format} for what cannot be told, with the tensor that was looked for.
nn::UNetConfig unet_config(const NamedViews& views, const SideSettings& settings, const std::string& file,
                           const UNetRule& rule);
nn::AutoencoderConfig vae_config(const NamedViews& views, const SideSettings& settings, const std::string& file);
nn::ClipTextConfig text_config(const NamedViews& views, const SideSettings& settings, const std::string& file,
                               const TextRule& rule);
// Id of the token that ends a text: the settings', else the vocabulary's last one.
int64_t end_token_of(const nn::ClipTextConfig& config, const SideSettings& settings, const TextRule& rule);

// Prediction type and terminal SNR: side settings, then marker tensors ("v_pred", "ztsnr") and metadata, then epsilon;
// the user's word comes last and is noted when it overrides something that the file says, as are settings that are not
// used.
void set_objective(ModelInfo& info, const formats::Checkpoint& checkpoint, const SideSettings& settings,
                   const LoadOptions& options);

// The sizes of the published model, and of the small one of the embedded model.
SdConfig full_config();
SdConfig tiny_config();

}  // namespace cinnabar::models::sd
