#include "cinnabar/optim/adam_options.h"
#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

// Kingma and Ba 2015, "Adam: a method for stochastic optimization"; numbers as torch.optim.Adam.
CINNABAR_REGISTER_OPTIMIZER(adam,
                            {.label = "Adam",
                             .help = "Step sizes from running means of the gradient and its square. Weight decay goes "
                                     "through the gradient; AdamW is usually better.",
                             .options = adam_options(/*weight_decay=*/0.0),
                             .reference_class = "torch.optim.adam.Adam",
                             .aliases = {"torch.optim.Adam"}});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/adam_step.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(adam, [](FlatParameters& parameters, const schema::Values& values) {
  return make_adam(parameters, values, WeightDecay::Gradient);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
