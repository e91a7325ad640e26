#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    plms, "plms",
    {.help =
         "Deterministic linear multistep of order 4 from the first step on. Ends at the first timestep of the table.",
     .label = "PLMS"},
    {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/pseudo_multistep.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER_FACTORY(plms, "plms", [](const SamplerOptions& options) {
  return std::make_unique<PseudoMultistep>(options, PseudoMultistep::Start::Doubled);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
