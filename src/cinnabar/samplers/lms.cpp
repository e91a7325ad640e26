#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    lms, "lms",
    {.help = "Deterministic, linear multistep of order 4: a step follows a curve through the last "
             "four slopes.",
     .label = "LMS",
     .options = {karras_option(), spacing_option()}},
    {"k_lms"});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/samplers/sigma_sampler.h"

namespace cinnabar::samplers {

namespace {

constexpr size_t kOrder = 4;

// Adams-Bashforth over uneven levels: the slopes of the last calls are joined by a polynomial in sigma, whose integral
// is the step.
class Lms : public SigmaSampler {
 public:
  using SigmaSampler::SigmaSampler;

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    if (call == 0) slopes_.clear();
    slopes_.insert(slopes_.begin(), derivative(call, x, prediction));
    if (slopes_.size() > kOrder) slopes_.pop_back();
    at::Tensor result = x;
    for (size_t i = 0; i < slopes_.size(); ++i) result = result + slopes_[i] * weight(call, static_cast<int64_t>(i));
    return result;
  }

 private:
  // Integral over the step of the polynomial that is 1 at the level of `back` calls before and 0 at the other ones.
  // Two Gauss points are exact up to degree 3.
  double weight(int64_t call, int64_t back) const {
    const double middle = 0.5 * (sigma(call) + sigma(call + 1));
    const double half = 0.5 * (sigma(call + 1) - sigma(call));
    const double place = half / std::sqrt(3.0);
    return half * (basis(call, back, middle - place) + basis(call, back, middle + place));
  }

  double basis(int64_t call, int64_t back, double at) const {
    double product = 1.0;
    for (int64_t other = 0; other < static_cast<int64_t>(slopes_.size()); ++other) {
      if (other == back) continue;
      product *= (at - sigma(call - other)) / (sigma(call - back) - sigma(call - other));
    }
    return product;
  }

  std::vector<at::Tensor> slopes_;  // newest first
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(lms, "lms",
                                  [](const SamplerOptions& options) { return std::make_unique<Lms>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
