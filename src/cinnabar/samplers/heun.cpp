#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(heun, "heun",
                          {.help = "Deterministic, two calls a step: a straight step, then one along the mean of both "
                                   "slopes. Takes twice the time of euler.",
                           .label = "Heun",
                           .options = {karras_option(), spacing_option(), clip_option()}},
                          {"k_heun"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/samplers/sigma_sampler.h"

namespace cinnabar::samplers {

namespace {

// Karras et al. 2022, algorithm 2 without added noise. Even calls go straight to the next level, odd ones correct it.
class Heun : public SigmaSampler {
 public:
  explicit Heun(const SamplerOptions& options) : SigmaSampler(options), clips_(options.clips_sample) {
    const std::vector<double> levels = std::move(sigmas_);
    const std::vector<double> times = std::move(timesteps_);
    sigmas_ = {levels.front()};
    timesteps_ = {times.front()};
    for (size_t i = 1; i + 1 < levels.size(); ++i) {
      sigmas_.insert(sigmas_.end(), {levels[i], levels[i]});
      timesteps_.insert(timesteps_.end(), {times[i], times[i]});
    }
    sigmas_.push_back(levels.back());
  }

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    const at::Tensor slope = clipped_derivative(call, x, prediction);
    if (call % 2 == 0) {
      start_ = x;
      first_slope_ = slope;
      return x + slope * (sigma(call + 1) - sigma(call));
    }
    return start_ + (first_slope_ + slope) * (0.5 * (sigma(call) - sigma(call - 1)));
  }

 private:
  at::Tensor clipped_derivative(int64_t call, const at::Tensor& x, const at::Tensor& prediction) const {
    const at::Tensor slope = derivative(call, x, prediction);
    if (!clips_) return slope;
    const double level = sigma(call);
    return (x - (x - slope * level).clamp(-1.0, 1.0)) / level;
  }

  bool clips_;
  at::Tensor start_;
  at::Tensor first_slope_;
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(heun, "heun",
                                  [](const SamplerOptions& options) { return std::make_unique<Heun>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
