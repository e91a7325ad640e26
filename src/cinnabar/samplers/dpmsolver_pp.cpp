#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(dpmsolver_pp, "dpmsolver++",
                          {.help = "DPM-Solver++ 2M: deterministic, uses the step before, good pictures in 20 steps.",
                           .label = "DPM++ 2M",
                           .options = {karras_option(), spacing_option(), solver_order_option()}},
                          {"dpmpp_2m"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/dpm_multistep.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER_FACTORY(dpmsolver_pp, "dpmsolver++", [](const SamplerOptions& options) {
  return std::make_unique<DpmMultistep>(options, DpmMultistep::Form::Clean);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
