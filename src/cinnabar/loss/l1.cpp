#include "cinnabar/loss/entry.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_LOSS(l1, {.help = "Absolute difference: less moved by outliers than l2."});

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

CINNABAR_REGISTER_ELEMENT_LOSS(l1,
                               {.apply = [](const at::Tensor& prediction, const at::Tensor& target,
                                            const at::Tensor& /*threshold*/) { return (prediction - target).abs(); }});

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
