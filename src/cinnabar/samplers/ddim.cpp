#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(ddim, "ddim",
                          {.help = "Deterministic; the reference's default. Follows the noise table in even steps.",
                           .label = "DDIM",
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

// Song et al. 2021, "Denoising diffusion implicit models", eta = 0.
class Ddim : public TableSampler {
 public:
  explicit Ddim(const SamplerOptions& options) : TableSampler(options, /*ends_at_clean=*/true) {
    const Spacing spacing =
        options.timestep_spacing.empty() ? Spacing::Leading : spacing_from(options.timestep_spacing);
    timesteps_ = spaced_timesteps(spacing, table_steps(), options.steps, options.timestep_offset);
    for (double& timestep : timesteps_) timestep = std::nearbyint(timestep);
    stride_ = table_steps() / options.steps;
  }

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    const double alpha = alpha_at(timestep(call));
    const double next = alpha_at(timestep(call) - stride_);
    // The noise is that of the unclipped picture, as in the reference.
    return clean_part(alpha, x, prediction) * std::sqrt(next) +
           noise_part(alpha, x, prediction) * std::sqrt(1.0 - next);
  }

 private:
  int64_t stride_ = 1;
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(ddim, "ddim",
                                  [](const SamplerOptions& options) { return std::make_unique<Ddim>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
