#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    ddim, "ddim",
    {.help = "Deterministic; the reference's default. Follows the noise table in even steps.",
     .label = "DDIM",
     .options = {spacing_option(),
                 {.name = "clip_sample",
                  .type = schema::Type::Flag,
                  .fallback = false,
                  .group = "Sampling",
                  .level = schema::Level::Expert,
                  .label = "Clip the clean latents",
                  .help = "Clips the predicted clean latents to -1..1 in ddim, as sd-scripts does. It "
                          "costs contrast; use it only to compare with sd-scripts."}}},
    {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/samplers/noise_levels.h"
#include "cinnabar/samplers/sampler.h"

namespace cinnabar::samplers {

namespace {

// Song et al. 2021, "Denoising diffusion implicit models", eta = 0. a: cumulative signal share of a timestep.
class Ddim : public Sampler {
 public:
  explicit Ddim(const SamplerOptions& options) : options_(options) {
    const int64_t table_steps = options.alphas_cumprod.size(0);
    const Spacing spacing =
        options.timestep_spacing.empty() ? Spacing::Leading : spacing_from(options.timestep_spacing);
    timesteps_ = spaced_timesteps(spacing, table_steps, options.steps, options.timestep_offset);
    for (double& timestep : timesteps_) timestep = std::nearbyint(timestep);
    stride_ = table_steps / options.steps;
    const at::Tensor table = options.alphas_cumprod.to(at::kCPU, at::kDouble).contiguous();
    alphas_.assign(table.const_data_ptr<double>(), table.const_data_ptr<double>() + table.numel());
  }

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    const auto timestep = static_cast<int64_t>(timesteps_[static_cast<size_t>(call)]);
    const double alpha = alphas_.at(static_cast<size_t>(timestep));
    const int64_t previous = timestep - stride_;
    const double last = options_.ends_at_clean ? 1.0 : alphas_.front();
    const double next_alpha = previous >= 0 ? alphas_[static_cast<size_t>(previous)] : last;
    const double signal = std::sqrt(alpha);
    const double spread = std::sqrt(1.0 - alpha);
    const bool is_velocity = options_.prediction == Prediction::Velocity;
    at::Tensor clean = is_velocity ? x * signal - prediction * spread : (x - prediction * spread) / signal;
    if (options_.clips_sample) clean = clean.clamp(-1.0, 1.0);
    // The direction keeps the unclipped noise, as the reference does.
    const at::Tensor noise = is_velocity ? prediction * signal + x * spread : prediction;
    return clean * std::sqrt(next_alpha) + noise * std::sqrt(1.0 - next_alpha);
  }

 private:
  SamplerOptions options_;
  int64_t stride_ = 1;
  std::vector<double> alphas_;
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(ddim, "ddim",
                                  [](const SamplerOptions& options) { return std::make_unique<Ddim>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
