#include "cinnabar/loss/entry.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_LOSS_WEIGHT(
    min_snr_gamma,
    {.help = "Caps the weight of nearly clean timesteps (min-SNR weighting).",
     .options = {{.name = "min_snr_gamma",
                  .type = schema::Type::Float,
                  .range = schema::Range{0.0, 1000.0},
                  .typical = schema::Range{1.0, 20.0},
                  .group = "Loss",
                  .level = schema::Level::Basic,
                  .label = "Min-SNR gamma",
                  .help = "Timesteps with a signal-to-noise ratio above this one count less. 5 is the published "
                          "value and often trains faster; unset or 0 switches it off."}},
     .order = 10});

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

// Hang et al. 2023, "Efficient diffusion training via min-SNR weighting strategy": min(SNR, gamma) / SNR for the noise,
// min(SNR, gamma) / (SNR + 1) for v.
CINNABAR_REGISTER_SAMPLE_WEIGHT(min_snr_gamma, {.apply = [](const at::Tensor& loss, const WeightInputs& inputs) {
                                  const at::Tensor capped = inputs.snr.clamp_max(inputs.value);
                                  return loss * (capped / (inputs.is_velocity ? inputs.snr + 1.0 : inputs.snr));
                                }});

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
