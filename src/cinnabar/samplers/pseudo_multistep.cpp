#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/pseudo_multistep.h"

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/samplers/noise_levels.h"

namespace cinnabar::samplers {

namespace {

constexpr int64_t kStartSteps = 3;
constexpr int64_t kCallsPerStartStep = 4;

}  // namespace

PseudoMultistep::PseudoMultistep(const SamplerOptions& options, Start start)
    : TableSampler(options, /*ends_at_clean=*/false), stride_(table_steps() / options.steps) {
  const std::vector<double> places =
      spaced_timesteps(Spacing::Leading, table_steps(), options.steps, options.timestep_offset);
  const auto count = static_cast<int64_t>(places.size());
  // Three steps by Runge-Kutta and one that builds on them are the least; shorter runs start as PLMS does.
  is_doubled_ = start == Start::Doubled || count <= kStartSteps;
  if (is_doubled_) {
    timesteps_ = places;
    if (count > 1) timesteps_.insert(timesteps_.begin() + 1, places[1]);
    return;
  }
  const auto half = static_cast<double>(stride_ / 2);
  for (size_t i = 0; i < kStartSteps; ++i) {
    const double middle = places[i + 1] + half;
    timesteps_.insert(timesteps_.end(), {places[i], middle, middle, places[i + 1]});
  }
  start_calls_ = kStartSteps * kCallsPerStartStep;
  timesteps_.insert(timesteps_.end(), places.begin() + kStartSteps, places.end());
}

at::Tensor PseudoMultistep::moved(const at::Tensor& x, const at::Tensor& prediction, int64_t from, int64_t to) const {
  const double alpha = alpha_at(from);
  const double next = alpha_at(to);
  // Equation 9 of the paper: the noise stays, the shares change.
  const at::Tensor noise = noise_part(alpha, x, prediction);
  return (x - noise * std::sqrt(1.0 - alpha)) * std::sqrt(next / alpha) + noise * std::sqrt(1.0 - next);
}

void PseudoMultistep::remember(const at::Tensor& prediction) {
  predictions_.insert(predictions_.begin(), prediction);
  if (predictions_.size() > 4) predictions_.pop_back();
}

at::Tensor PseudoMultistep::step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                                 const NoiseFunction& /*noise*/) {
  if (call == 0) predictions_.clear();
  return call < start_calls_ ? runge_kutta_step(call, x, prediction) : multistep(call, x, prediction);
}

at::Tensor PseudoMultistep::runge_kutta_step(int64_t call, const at::Tensor& x, const at::Tensor& prediction) {
  const int64_t part = call % kCallsPerStartStep;
  const int64_t from = timestep(call - part);
  const int64_t half = stride_ / 2;
  if (part == 0) {
    start_x_ = x;
    remember(prediction);
    gathered_ = prediction / 6.0;
    return moved(start_x_, prediction, from, from - half);
  }
  if (part == 3) return moved(start_x_, gathered_ + prediction / 6.0, from, timestep(call));
  gathered_ = gathered_ + prediction / 3.0;
  return moved(start_x_, prediction, from, part == 1 ? timestep(call) : timestep(call) - half);
}

at::Tensor PseudoMultistep::multistep(int64_t call, const at::Tensor& x, const at::Tensor& prediction) {
  const int64_t now = timestep(call);
  if (is_doubled_ && call == 0) {
    start_x_ = x;
    remember(prediction);
    return moved(x, prediction, now, now - stride_);
  }
  // The second call repeats the first step with the mean of both predictions.
  if (is_doubled_ && call == 1) return moved(start_x_, (prediction + predictions_[0]) * 0.5, now + stride_, now);
  remember(prediction);
  const std::vector<at::Tensor>& p = predictions_;
  at::Tensor joined = p[0];
  // Adams-Bashforth.
  if (p.size() == 2) joined = (3.0 * p[0] - p[1]) / 2.0;
  if (p.size() == 3) joined = (23.0 * p[0] - 16.0 * p[1] + 5.0 * p[2]) / 12.0;
  if (p.size() == 4) joined = (55.0 * p[0] - 59.0 * p[1] + 37.0 * p[2] - 9.0 * p[3]) / 24.0;
  return moved(x, joined, now, now - stride_);
}

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
