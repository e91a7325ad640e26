#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(dpmsolver_pp, "dpmsolver++",
                          {.help = "DPM-Solver++ 2M: deterministic, uses the step before, good pictures in 20 steps.",
                           .label = "DPM++ 2M",
                           .options = {karras_option(), spacing_option()}},
                          {"dpmpp_2m"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/samplers/noise_levels.h"
#include "cinnabar/samplers/sampler.h"

namespace cinnabar::samplers {

namespace {

// One whole-numbered timestep more than there are steps; the least noisy one is left out.
std::vector<double> solver_timesteps(const SamplerOptions& options, int64_t table_steps) {
  const Spacing spacing = options.timestep_spacing.empty() ? Spacing::Linspace : spacing_from(options.timestep_spacing);
  if (spacing == Spacing::Trailing) return spaced_timesteps(spacing, table_steps, options.steps, 0);
  std::vector<double> timesteps = spaced_timesteps(spacing, table_steps, options.steps + 1, options.timestep_offset);
  timesteps.pop_back();
  for (double& timestep : timesteps) timestep = std::nearbyint(timestep);
  return timesteps;
}

// Lu et al. 2022, "DPM-Solver++", algorithm 2 (multistep, order 2), with the data prediction. For a level sigma the
// shares are a = 1 / sqrt(sigma^2 + 1) of signal and s = a sigma of noise, and lambda = log(a / s) = -log(sigma).
class DpmSolverPlusPlus : public Sampler {
 public:
  explicit DpmSolverPlusPlus(const SamplerOptions& options) : prediction_(options.prediction) {
    const at::Tensor alphas = options.alphas_cumprod.to(at::kCPU, at::kDouble).contiguous();
    const double* first = alphas.const_data_ptr<double>();
    const std::vector<double> table = table_sigmas({first, first + alphas.numel()});
    timesteps_ = solver_timesteps(options, alphas.numel());
    for (const double timestep : timesteps_) sigmas_.push_back(sigma_at(table, timestep));
    if (options.has_karras_sigmas) {
      sigmas_ = karras_sigmas(table.front(), table.back(), options.steps);
      for (size_t i = 0; i < sigmas_.size(); ++i) timesteps_[i] = std::nearbyint(timestep_of(table, sigmas_[i]));
    }
    sigmas_.push_back(0.0);
  }

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    const size_t i = static_cast<size_t>(call);
    const at::Tensor clean = clean_latents(sigmas_[i], x, prediction);
    at::Tensor estimate = clean;
    // The first step knows no earlier one, and the last, to sigma 0, is exact in first order.
    if (call > 0 && sigmas_[i + 1] > 0.0) {
      const double length = std::log(sigmas_[i] / sigmas_[i + 1]);
      const double length_before = std::log(sigmas_[i - 1] / sigmas_[i]);
      // With nearly as many steps as the table has, two levels may be equal.
      if (length_before > 0.0) estimate = clean + (clean - previous_clean_) * (0.5 * length / length_before);
    }
    previous_clean_ = clean;
    const double signal = 1.0 / std::sqrt(sigmas_[i] * sigmas_[i] + 1.0);
    const double next_signal = 1.0 / std::sqrt(sigmas_[i + 1] * sigmas_[i + 1] + 1.0);
    const double ratio = sigmas_[i + 1] / sigmas_[i];  // exp(-h), h the step in lambda
    return x * (ratio * next_signal / signal) + estimate * (next_signal * (1.0 - ratio));
  }

 private:
  at::Tensor clean_latents(double sigma, const at::Tensor& x, const at::Tensor& prediction) const {
    const double signal = 1.0 / std::sqrt(sigma * sigma + 1.0);
    const double spread = sigma * signal;
    if (prediction_ == Prediction::Velocity) return x * signal - prediction * spread;
    return (x - prediction * spread) / signal;
  }

  Prediction prediction_;
  at::Tensor previous_clean_;
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(dpmsolver_pp, "dpmsolver++", [](const SamplerOptions& options) {
  return std::make_unique<DpmSolverPlusPlus>(options);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
