#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    deis, "deis",
    {.help = "DEIS in log-rho: deterministic multistep whose curve is a polynomial in the logarithm "
             "of the noise level.",
     .label = "DEIS",
     .options = {karras_option(), spacing_option(), solver_order_option()}},
    {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cinnabar/samplers/solver_sampler.h"

namespace cinnabar::samplers {

namespace {

constexpr int64_t kShortDeisRun = 15;  // shorter runs end in lower orders, as the reference does

// Zhang and Chen 2022, "Fast sampling of diffusion models with exponential integrator": x / a is an integral over
// sigma of the noise, which a polynomial in log(sigma) through the last calls stands for.
class Deis : public SolverSampler {
 public:
  explicit Deis(const SamplerOptions& options) : SolverSampler(options, {.ends_at_clean = false}) {}

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    remember(call, noise_part(call, x, prediction));
    const int64_t used = usable_order(call, wanted_order(call));
    at::Tensor sum = x / signal(call);
    for (int64_t i = 0; i < used; ++i) sum = sum + part(i) * weight(call, i, used);
    return sum * signal(call + 1);
  }

 private:
  int64_t wanted_order(int64_t call) const {
    if (sigma(call + 1) == 0.0) return 1;
    if (steps() >= kShortDeisRun) return order();
    if (call == steps() - 1) return 1;
    return call == steps() - 2 ? std::min<int64_t>(order(), 2) : order();
  }

  // Integral over the step of the polynomial in l = log(sigma) that is 1 at the level of `back` calls before and 0 at
  // the other ones.
  double weight(int64_t call, int64_t back, int64_t used) const {
    // Coefficients of 1, l, l^2.
    std::array<double, 3> polynomial{1.0, 0.0, 0.0};
    for (int64_t other = 0; other < used; ++other) {
      if (other == back) continue;
      const double root = std::log(sigma(call - other));
      const double scale = 1.0 / (std::log(sigma(call - back)) - root);
      polynomial = {-root * polynomial[0] * scale, (polynomial[0] - root * polynomial[1]) * scale,
                    (polynomial[1] - root * polynomial[2]) * scale};
    }
    return integral(polynomial, sigma(call + 1)) - integral(polynomial, sigma(call));
  }

  // Of c0 + c1 l + c2 l^2 over sigma, from 0.
  static double integral(const std::array<double, 3>& c, double sigma) {
    if (sigma == 0.0) return 0.0;
    const double l = std::log(sigma);
    return sigma * (c[0] + c[1] * (l - 1.0) + c[2] * (l * l - 2.0 * l + 2.0));
  }
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(deis, "deis",
                                  [](const SamplerOptions& options) { return std::make_unique<Deis>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
