#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    euler_a, "euler_a",
    {.help = "Euler steps that overshoot and add fresh noise (ancestral). Pictures keep changing with "
             "the number of steps.",
     .label = "Euler a",
     .options = {karras_option(), spacing_option()}},
    {"k_euler_a"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/samplers/sigma_sampler.h"

namespace cinnabar::samplers {

namespace {

// A step from s to s' goes down to s'^2 / s and adds noise so that the level is s' again: the noise has the variance
// that the posterior of a diffusion step has (Ho et al. 2020, in terms of sigma).
class EulerAncestral : public SigmaSampler {
 public:
  using SigmaSampler::SigmaSampler;

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& noise) override {
    const double from = sigma(call);
    const double to = sigma(call + 1);
    const double down = to * to / from;
    const double up = std::sqrt(to * to - down * down);
    const at::Tensor lowered = x + derivative(call, x, prediction) * (down - from);
    return up > 0.0 ? lowered + noise(call, x) * up : lowered;
  }
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(euler_a, "euler_a", [](const SamplerOptions& options) {
  return std::make_unique<EulerAncestral>(options);
});

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
