#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

// Stochastic gradient descent; numbers as torch.optim.SGD.
CINNABAR_REGISTER_OPTIMIZER(
    sgd,
    {.label = "SGD",
     .help = "Plain gradient steps, with or without momentum. Needs far higher rates than AdamW.",
     .options = {number_row({"momentum", "Momentum", "How much of the last step goes into the next one."}, 0.0,
                            {0.0, 0.999999}),
                 number_row({"dampening", "Dampening", "Share of each gradient that the momentum leaves out."}, 0.0,
                            {0.0, 1.0}),
                 weight_decay_row(0.0),
                 flag_row({"nesterov", "Nesterov", "Looks one step ahead; needs a momentum and no dampening."}, false)},
     .reference_class = "torch.optim.sgd.SGD",
     .aliases = {"torch.optim.SGD"}});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(sgd, [](FlatParameters& parameters, const schema::Values& values) {
  const bool is_nesterov = values.flag("nesterov");
  if (is_nesterov && (values.number("momentum") == 0.0 || values.number("dampening") != 0.0)) {
    throw base::Error(base::ErrorCode::Config,
                      "optimizer_args: nesterov=True needs a momentum above 0 and dampening 0");
  }
  return make_stored_sgd(parameters, values, is_nesterov);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
