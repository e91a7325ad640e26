#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

// Chen et al. 2023, "Symbolic discovery of optimization algorithms"; numbers as lion-pytorch.
CINNABAR_REGISTER_OPTIMIZER(lion, {.label = "Lion",
                                   .help = "Steps of one size in the direction of a running mean. Takes rates about a "
                                           "tenth of AdamW's, and half its memory.",
                                   .options = {betas_row({0.9, 0.99}), weight_decay_row(0.0),
                                               flag_row({"decoupled_weight_decay", "Decoupled decay",
                                                         "Weight decay that does not depend on the learning rate: it "
                                                         "is divided by the base rate of the parameters."},
                                                        false)},
                                   .reference_class = "lion_pytorch.lion_pytorch.Lion",
                                   .aliases = {"lion_pytorch.Lion"}});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(lion, [](FlatParameters& parameters, const schema::Values& values) {
  return make_stored_lion(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
