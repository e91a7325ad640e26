#include "cinnabar/loss/entry.h"
#include "cinnabar/loss/huber_options.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_LOSS(
    huber, {.help = "Squared for small differences, absolute for large ones; scaled so that small ones count as in l2.",
            .options = huber_options()});

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

// c = threshold, d = difference: 2c (sqrt(d^2 + c^2) - c).
CINNABAR_REGISTER_ELEMENT_LOSS(huber, {.apply =
                                           [](const at::Tensor& prediction, const at::Tensor& target,
                                              const at::Tensor& threshold) {
                                             const at::Tensor squared = (prediction - target).square();
                                             return 2.0 * threshold *
                                                    ((squared + threshold.square()).sqrt() - threshold);
                                           },
                                       .has_threshold = true});

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
