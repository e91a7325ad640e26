#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// bitsandbytes' AdamW with 32-bit state that may move to the host.
CINNABAR_REGISTER_OPTIMIZER(pagedadamw, {.label = "PagedAdamW",
                                         .help = "The same as AdamW; nothing needs paging here.",
                                         .options = {betas_row({0.9, 0.999}), eps_row(1e-8), weight_decay_row(0.01)},
                                         .reference_class = "bitsandbytes.optim.adamw.PagedAdamW",
                                         .aliases = {"bitsandbytes.optim.PagedAdamW"},
                                         .rules = say_paging_is_unneeded});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/adam_step.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(pagedadamw, [](FlatParameters& parameters, const schema::Values& values) {
  return make_adam(parameters, values, WeightDecay::Decoupled);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
