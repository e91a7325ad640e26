#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Sutskever et al. 2013, "On the importance of initialization and momentum"; numbers as torch.optim.SGD.
CINNABAR_REGISTER_OPTIMIZER(
    sgdnesterov, {.label = "SGDNesterov",
                  .help = "Plain gradient steps with a momentum that looks ahead. Needs far higher rates than AdamW.",
                  .options = {number_row({"momentum", "Momentum", "How much of the last step goes into the next one."},
                                         0.9, {0.0, 0.999999}),
                              weight_decay_row(0.0)},
                  .reference_class = "torch.optim.sgd.SGD",
                  .rules = give_momentum});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(sgdnesterov, [](FlatParameters& parameters, const schema::Values& values) {
  return make_stored_sgd(parameters, values, /*is_nesterov=*/true);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
