#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    ddpm, "ddpm",
    {.help = "The sampler of the first diffusion models, with fresh noise at every step. Needs many "
             "steps (100 and more).",
     .label = "DDPM",
     .options = {spacing_option(), clip_option()}},
    {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/samplers/noise_levels.h"
#include "cinnabar/samplers/table_sampler.h"

namespace cinnabar::samplers {

namespace {

// Ho et al. 2020, equations 6 and 7, between the timesteps of the run; the smaller of the two variances.
class Ddpm : public TableSampler {
 public:
  explicit Ddpm(const SamplerOptions& options) : TableSampler(options, /*ends_at_clean=*/true) {
    const Spacing spacing =
        options.timestep_spacing.empty() ? Spacing::Leading : spacing_from(options.timestep_spacing);
    timesteps_ = spaced_timesteps(spacing, table_steps(), options.steps, options.timestep_offset);
    for (double& timestep : timesteps_) timestep = std::nearbyint(timestep);
  }

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& noise) override {
    const bool is_last = call + 1 == static_cast<int64_t>(timesteps_.size());
    const double alpha = alpha_at(timestep(call));
    const double next = is_last ? 1.0 : alpha_at(timestep(call + 1));
    const double kept = alpha / next;
    const at::Tensor mean = clean_part(alpha, x, prediction) * (std::sqrt(next) * (1.0 - kept) / (1.0 - alpha)) +
                            x * (std::sqrt(kept) * (1.0 - next) / (1.0 - alpha));
    const double variance = (1.0 - next) / (1.0 - alpha) * (1.0 - kept);
    return variance > 0.0 ? mean + noise(call, x) * std::sqrt(variance) : mean;
  }
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(ddpm, "ddpm",
                                  [](const SamplerOptions& options) { return std::make_unique<Ddpm>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
