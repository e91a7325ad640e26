#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

// Dettmers et al. 2022, "8-bit optimizers via block-wise quantization"; numbers as bitsandbytes.
CINNABAR_REGISTER_OPTIMIZER(
    adamw8bit, {.label = "AdamW8bit",
                .help = "AdamW whose running means take a byte each: a quarter of the memory, nearly the same steps.",
                .options = {betas_row({0.9, 0.999}), eps_row(1e-8), weight_decay_row(0.01), min_8bit_size_row()},
                .reference_class = "bitsandbytes.optim.adamw.AdamW8bit",
                .aliases = {"bitsandbytes.optim.AdamW8bit"}});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

namespace cinnabar::optim {

CINNABAR_REGISTER_OPTIMIZER_FACTORY(adamw8bit, [](FlatParameters& parameters, const schema::Values& values) {
  return make_stored_adamw(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
