#include "cinnabar/loss/entry.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_LOSS_WEIGHT(
    scale_v_pred_loss_like_noise_pred,
    {.help = "Weights a v-prediction loss as if the model predicted the noise.",
     .options =
         {{.name = "scale_v_pred_loss_like_noise_pred",
           .type = schema::Type::Flag,
           .fallback = false,
           .group = "Loss",
           .level = schema::Level::Expert,
           .label = "Scale v like noise",
           .help = "Multiplies the loss by SNR / (SNR + 1), so that v-prediction weighs timesteps as noise prediction "
                   "does. Only for v-prediction models."}},
     .order = 20});

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_SAMPLE_WEIGHT(scale_v_pred_loss_like_noise_pred,
                                {.apply =
                                     [](const at::Tensor& loss, const WeightInputs& inputs) {
                                       const at::Tensor snr = inputs.snr.clamp_max(kMaxSnr);
                                       return loss * (snr / (snr + 1.0));
                                     },
                                 .needs_velocity = true});

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
