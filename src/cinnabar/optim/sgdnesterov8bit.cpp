#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// bitsandbytes' SGD8bit, which takes `nesterov` but makes plain momentum steps; the numbers are kept.
CINNABAR_REGISTER_OPTIMIZER(
    sgdnesterov8bit,
    {.label = "SGDNesterov8bit",
     .help = "Gradient steps with a momentum that takes a byte an element. As in the original, it does not look ahead.",
     .options = {number_row({"momentum", "Momentum", "How much of the last step goes into the next one."}, 0.9,
                            {0.0, 0.999999}),
                 weight_decay_row(0.0), min_8bit_size_row()},
     .reference_class = "bitsandbytes.optim.sgd.SGD8bit",
     .aliases = {"bitsandbytes.optim.SGD8bit"},
     .rules = give_momentum});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(sgdnesterov8bit, [](FlatParameters& parameters, const schema::Values& values) {
  return make_stored_sgd(parameters, values, /*is_nesterov=*/false);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
