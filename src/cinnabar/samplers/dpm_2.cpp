#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    dpm_2, "dpm_2",
    {.help = "Deterministic, two calls a step: one at a level in between, whose slope the step takes.",
     .label = "DPM2",
     .options = {karras_option(), spacing_option()}},
    {"k_dpm_2"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/two_stage_sampler.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER_FACTORY(dpm_2, "dpm_2", [](const SamplerOptions& options) {
  return std::make_unique<TwoStageSampler>(options, TwoStageSampler::Form::Plain);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
