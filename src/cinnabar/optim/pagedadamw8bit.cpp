#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// bitsandbytes moves such state between GPU and host when memory is short; the numbers are those of AdamW8bit.
CINNABAR_REGISTER_OPTIMIZER(pagedadamw8bit, {.label = "PagedAdamW8bit",
                                             .help = "The same as AdamW8bit; nothing needs paging here.",
                                             .options = {betas_row({0.9, 0.999}), eps_row(1e-8), weight_decay_row(0.01),
                                                         min_8bit_size_row()},
                                             .reference_class = "bitsandbytes.optim.adamw.PagedAdamW8bit",
                                             .aliases = {"bitsandbytes.optim.PagedAdamW8bit"},
                                             .rules = say_paging_is_unneeded});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(pagedadamw8bit, [](FlatParameters& parameters, const schema::Values& values) {
  return make_stored_adamw(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
