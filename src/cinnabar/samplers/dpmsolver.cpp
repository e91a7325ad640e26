#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    dpmsolver, "dpmsolver",
    {.help = "DPM-Solver 2M on the predicted noise: deterministic, the predecessor of dpmsolver++. "
             "Ends at the lowest noise level of the table.",
     .label = "DPM-Solver 2M",
     .options = {karras_option(), spacing_option(), solver_order_option()}},
    {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/dpm_multistep.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER_FACTORY(dpmsolver, "dpmsolver", [](const SamplerOptions& options) {
  return std::make_unique<DpmMultistep>(options, DpmMultistep::Form::Noise);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
