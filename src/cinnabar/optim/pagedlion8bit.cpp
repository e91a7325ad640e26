#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// bitsandbytes' Lion8bit with state that may move to the host.
CINNABAR_REGISTER_OPTIMIZER(pagedlion8bit,
                            {.label = "PagedLion8bit",
                             .help = "The same as Lion8bit; nothing needs paging here.",
                             .options = {betas_row({0.9, 0.99}), weight_decay_row(0.0), min_8bit_size_row()},
                             .reference_class = "bitsandbytes.optim.lion.PagedLion8bit",
                             .aliases = {"bitsandbytes.optim.PagedLion8bit"},
                             .rules = say_paging_is_unneeded});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(pagedlion8bit, [](FlatParameters& parameters, const schema::Values& values) {
  return make_stored_lion(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
