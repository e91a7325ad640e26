// What an SD 1 checkpoint's tensors and side settings say of the model (design.md 1.3).
#pragma once

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

// Names are single-file ones. Sizes come from shapes; head and group counts and the activation from the settings, else
// from the published models' rules: groups = min(32, width of the first level / 4), 8 U-Net heads, text heads = width /
// 64, quick_gelu. Throw Error{Format} for what cannot be told, with the tensor that was looked for.
nn::UNetConfig unet_config(const NamedViews& views, const SideSettings& settings, const std::string& file);
nn::AutoencoderConfig vae_config(const NamedViews& views, const SideSettings& settings, const std::string& file);
nn::ClipTextConfig text_config(const NamedViews& views, const SideSettings& settings, const std::string& file);

// Prediction type and terminal SNR: side settings, then marker tensors ("v_pred", "ztsnr") and metadata, then epsilon;
// the user's word comes last and is noted when it overrides something that the file says.
void set_objective(ModelInfo& info, const formats::Checkpoint& checkpoint, const SideSettings& settings,
                   const LoadOptions& options);

// The sizes of the published model, and of the small one of the embedded model.
SdConfig full_config();
SdConfig tiny_config();

}  // namespace cinnabar::models::sd
