#include "cinnabar/optim/adam_options.h"
#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

// Loshchilov and Hutter 2019, "Decoupled weight decay regularization"; numbers as torch.optim.AdamW.
CINNABAR_REGISTER_OPTIMIZER(adamw, {.label = "AdamW",
                                    .help = "Adam with weight decay apart from the gradient. The usual choice.",
                                    .options = adam_options(/*weight_decay=*/0.01),
                                    .reference_class = "torch.optim.adamw.AdamW",
                                    .aliases = {"torch.optim.AdamW"}});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/adam_step.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(adamw, [](FlatParameters& parameters, const schema::Values& values) {
  return make_adam(parameters, values, WeightDecay::Decoupled);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
