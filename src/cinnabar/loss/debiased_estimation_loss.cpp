#include "cinnabar/loss/entry.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_LOSS_WEIGHT(
    debiased_estimation_loss,
    {.help = "Weighs nearly clean timesteps less, by the root of their signal-to-noise ratio.",
     .options = {{.name = "debiased_estimation_loss",
                  .type = schema::Type::Flag,
                  .fallback = false,
                  .group = "Loss",
                  .level = schema::Level::Expert,
                  .label = "Debiased estimation",
                  .help = "Multiplies the loss by 1 / sqrt(SNR), for v-prediction by 1 / (SNR + 1). An alternative to "
                          "min_snr_gamma."}},
     .order = 40});

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

// Yu et al. 2024, "Debias the training of diffusion models".
CINNABAR_REGISTER_SAMPLE_WEIGHT(debiased_estimation_loss,
                                {.apply = [](const at::Tensor& loss, const WeightInputs& inputs) {
                                  const at::Tensor snr = inputs.snr.clamp_max(kMaxSnr);
                                  return loss * (inputs.is_velocity ? (snr + 1.0).reciprocal() : snr.rsqrt());
                                }});

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
