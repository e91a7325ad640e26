#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/dpm_multistep.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace cinnabar::samplers {

namespace {

constexpr int64_t kShortRun = 15;  // shorter runs end in lower orders, as the reference does

// phi(z) are the integrals of the exponential: what the parts, their slope and their curvature weigh in a step whose
// length in the exponent is z.
struct Weights {
  double part;
  double slope;
  double curvature;
};

Weights weights_of(double z, double growth, bool is_heun, int64_t order) {
  // growth = exp(z) - 1. Below 1e-4 the quotients lose their digits, and the first terms of their series are exact.
  const bool is_small = std::abs(z) < 1e-4;
  const double slope = is_small ? z / 2.0 + z * z / 6.0 : growth / z - 1.0;
  const double curvature = is_small ? z / 6.0 : (growth - z) / (z * z) - 0.5;
  return {growth, is_heun || order == 3 ? slope : growth / 2.0, curvature};
}

}  // namespace

DpmMultistep::DpmMultistep(const SamplerOptions& options, Form form)
    : SolverSampler(options, {.own_order = 2, .ends_at_clean = form != Form::Noise}),
      form_(form),
      is_heun_(options.solver_type == "heun") {}

int64_t DpmMultistep::order_at(int64_t call) const {
  if (sigma(call) == sigma(call + 1)) return 1;
  const bool is_short = steps() < kShortRun;
  int64_t wanted = order();
  if (is_short && call == steps() - 2) wanted = std::min<int64_t>(wanted, 2);
  // Where the end is the clean picture, its prediction is the result.
  if (call == steps() - 1 && (is_short || ends_at_clean())) wanted = 1;
  return usable_order(call, wanted);
}

at::Tensor DpmMultistep::step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                              const NoiseFunction& noise) {
  remember(call, form_ == Form::Noise ? noise_part(call, x, prediction) : clean_part(call, x, prediction));
  const at::Tensor stepped = step_of_order(call, order_at(call), x);
  if (form_ != Form::CleanWithNoise || sigma(call + 1) == 0.0) return stepped;
  const double ratio = sigma(call + 1) / sigma(call);
  return stepped + noise(call, x) * (spread(call + 1) * std::sqrt(1.0 - ratio * ratio));
}

// With h the length of the step in lambda, z = -h for the clean part, -2h with noise, h for the noise part; the rest
// of x is scaled by the ratio of noise shares (times exp(-h) with noise), or of signal shares for the noise part.
at::Tensor DpmMultistep::step_of_order(int64_t call, int64_t order, const at::Tensor& x) const {
  const int64_t next = call + 1;
  const double ratio = sigma(next) / sigma(call);  // exp(-h)
  double keep = 0.0;
  double gain = -signal(next);
  double z = -length(call, next);
  double growth = ratio - 1.0;
  if (form_ == Form::Clean) {
    keep = spread(next) / spread(call);
  } else if (form_ == Form::CleanWithNoise) {
    keep = spread(next) / spread(call) * ratio;
    z *= 2.0;
    growth = ratio * ratio - 1.0;
  } else {
    keep = signal(next) / signal(call);
    z = -z;
    // spread(next) * (exp(h) - 1), written so that an end at sigma 0 stays finite in first order.
    if (order == 1) return x * keep - part(0) * (signal(next) * (sigma(call) - sigma(next)));
    growth = 1.0 / ratio - 1.0;
    gain = -spread(next);
  }
  if (order == 1) return x * keep + part(0) * (gain * growth);
  const double h = length(call, next);
  const Weights weights = weights_of(z, growth, is_heun_, order);
  // Slopes in units of h, from the differences to the parts before.
  const at::Tensor slope = (part(0) - part(1)) * (h / length(call - 1, call));
  const at::Tensor start = x * keep + part(0) * (gain * weights.part);
  if (order == 2) return start + slope * (gain * weights.slope);
  const double r0 = length(call - 1, call) / h;
  const double r1 = length(call - 2, call - 1) / h;
  const at::Tensor slope_before = (part(1) - part(2)) / r1;
  const at::Tensor change = (slope - slope_before) / (r0 + r1);
  return start + (slope + change * r0) * (gain * weights.slope) + change * (gain * weights.curvature);
}

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
