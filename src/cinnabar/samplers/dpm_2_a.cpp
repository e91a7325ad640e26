#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(dpm_2_a, "dpm_2_a",
                          {.help = "Two calls a step that overshoot, and fresh noise (ancestral).",
                           .label = "DPM2 a",
                           .options = {karras_option(), spacing_option()}},
                          {"k_dpm_2_a"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/two_stage_sampler.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER_FACTORY(dpm_2_a, "dpm_2_a", [](const SamplerOptions& options) {
  return std::make_unique<TwoStageSampler>(options, TwoStageSampler::Form::Ancestral);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
