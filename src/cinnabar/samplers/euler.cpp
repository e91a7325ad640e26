#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(euler, "euler",
                          {.help = "Deterministic, one straight step a call. A good start for previews.",
                           .label = "Euler",
                           .options = {karras_option(), spacing_option()}},
                          {"k_euler"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/samplers/sigma_sampler.h"

namespace cinnabar::samplers {

namespace {

// Karras et al. 2022, algorithm 2 without its second-order correction and without added noise.
class Euler : public SigmaSampler {
 public:
  using SigmaSampler::SigmaSampler;

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    return x + derivative(call, x, prediction) * (sigma(call + 1) - sigma(call));
  }
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(euler, "euler",
                                  [](const SamplerOptions& options) { return std::make_unique<Euler>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
