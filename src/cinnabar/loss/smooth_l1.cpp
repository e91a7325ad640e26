#include "cinnabar/loss/entry.h"
#include "cinnabar/loss/huber_options.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_LOSS(
    smooth_l1,
    {.help = "Squared for small differences, absolute for large ones; scaled so that large ones count as in l1, twice.",
     .options = huber_options()});

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

// c = threshold, d = difference: 2 (sqrt(d^2 + c^2) - c).
CINNABAR_REGISTER_ELEMENT_LOSS(smooth_l1, {.apply =
                                               [](const at::Tensor& prediction, const at::Tensor& target,
                                                  const at::Tensor& threshold) {
                                                 const at::Tensor squared = (prediction - target).square();
                                                 return 2.0 * ((squared + threshold.square()).sqrt() - threshold);
                                               },
                                           .has_threshold = true});

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
