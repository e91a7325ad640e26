#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(pndm, "pndm",
                          {.help = "Deterministic: three Runge-Kutta steps of four calls each, then linear multistep. "
                                   "Ends at the first timestep of the table.",
                           .label = "PNDM"},
                          {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/pseudo_multistep.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER_FACTORY(pndm, "pndm", [](const SamplerOptions& options) {
  return std::make_unique<PseudoMultistep>(options, PseudoMultistep::Start::RungeKutta);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
