#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(dpmpp_2m_sde, "dpmpp_2m_sde",
                          {.help = "DPM-Solver++ 2M with fresh noise at every step: lively pictures, best with Karras "
                                   "noise levels and 25 steps or more.",
                           .label = "DPM++ 2M SDE",
                           .options = {karras_option(), spacing_option()}},
                          {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/dpm_multistep.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER_FACTORY(dpmpp_2m_sde, "dpmpp_2m_sde", [](SamplerOptions options) {
  options.solver_order = 2;
  return std::make_unique<DpmMultistep>(options, DpmMultistep::Form::CleanWithNoise);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
