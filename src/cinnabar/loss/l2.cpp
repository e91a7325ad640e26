#include "cinnabar/loss/entry.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_LOSS(l2, {.help = "Squared difference: the usual loss of diffusion models."});

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_ELEMENT_LOSS(l2, {.apply = [](const at::Tensor& prediction, const at::Tensor& target,
                                                const at::Tensor& /*threshold*/) {
                                 return (prediction - target).square();
                               }});

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
