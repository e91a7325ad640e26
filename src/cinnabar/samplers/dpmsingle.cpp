#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(dpmsingle, "dpmsingle",
                          {.help = "DPM-Solver++ 2S: deterministic, pairs of calls that start from the same latents.",
                           .label = "DPM++ 2S",
                           .options = {karras_option()}},
                          {"dpmpp_2s"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/samplers/solver_sampler.h"

namespace cinnabar::samplers {

namespace {

// Lu et al. 2022, "DPM-Solver++", algorithm 1 (singlestep, order 2).
class DpmSingle : public SolverSampler {
 public:
  explicit DpmSingle(const SamplerOptions& options) : SolverSampler(options, {.has_spacing = false}) {}

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    remember(call, clean_part(call, x, prediction));
    const bool is_second = is_second_of_pair(call) && usable_order(call, 2) == 2;
    if (!is_second) start_ = x;
    // The second call of a pair goes all the way from where the pair began.
    const int64_t from = is_second ? call - 1 : call;
    const double ratio = sigma(call + 1) / sigma(from);
    const double gain = signal(call + 1) * (1.0 - ratio);
    const at::Tensor kept = start_ * (spread(call + 1) / spread(from));
    if (!is_second) return kept + part(0) * gain;
    const at::Tensor slope = (part(0) - part(1)) * (length(from, call + 1) / length(from, call));
    return kept + part(1) * gain + slope * (0.5 * gain);
  }

 private:
  // The step to sigma 0 is exact in first order.
  bool is_second_of_pair(int64_t call) const { return call % 2 == 1 && sigma(call + 1) > 0.0; }

  at::Tensor start_;
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(dpmsingle, "dpmsingle",
                                  [](const SamplerOptions& options) { return std::make_unique<DpmSingle>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
