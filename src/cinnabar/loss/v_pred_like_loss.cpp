#include "cinnabar/loss/entry.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_LOSS_WEIGHT(
    v_pred_like_loss, {.help = "Adds a share of the weighting that v-prediction would give.",
                       .options = {{.name = "v_pred_like_loss",
                                    .type = schema::Type::Float,
                                    .range = schema::Range{0.0, 1000.0},
                                    .typical = schema::Range{0.1, 1.0},
                                    .group = "Loss",
                                    .level = schema::Level::Expert,
                                    .label = "v-like loss share",
                                    .help = "Adds this times the loss as v-prediction would weigh it. Only for models "
                                            "that predict the noise; unset or 0 switches it off."}},
                       .order = 30});

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_SAMPLE_WEIGHT(v_pred_like_loss, {.apply =
                                                       [](const at::Tensor& loss, const WeightInputs& inputs) {
                                                         const at::Tensor snr = inputs.snr.clamp_max(kMaxSnr);
                                                         return loss + loss / (snr / (snr + 1.0)) * inputs.value;
                                                       },
                                                   .refuses_velocity = true});

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
