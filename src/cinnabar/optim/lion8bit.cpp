#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

// Lion with the block-wise codes of AdamW8bit; numbers as bitsandbytes.
CINNABAR_REGISTER_OPTIMIZER(lion8bit, {.label = "Lion8bit",
                                       .help = "Lion whose running mean takes a byte an element.",
                                       .options = {betas_row({0.9, 0.99}), weight_decay_row(0.0), min_8bit_size_row()},
                                       .reference_class = "bitsandbytes.optim.lion.Lion8bit",
                                       .aliases = {"bitsandbytes.optim.Lion8bit"}});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(lion8bit, [](FlatParameters& parameters, const schema::Values& values) {
  return make_stored_lion(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
