#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/two_stage_sampler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace cinnabar::samplers {

TwoStageSampler::TwoStageSampler(const SamplerOptions& options, Form form) : SigmaSampler(options) {
  const std::vector<double> table = table_sigmas(table_shares(options));
  const std::vector<double> levels = std::move(sigmas_);
  std::vector<double> times = std::move(timesteps_);
  if (options.has_karras_sigmas) {
    for (double& time : times) time = std::nearbyint(time);
  }
  sigmas_ = {levels.front()};
  timesteps_ = {times.front()};
  for (size_t i = 0; i < times.size(); ++i) {
    const double from = levels[i];
    const double to = levels[i + 1];
    const double down = form == Form::Ancestral ? to * to / from : to;
    stages_.push_back({from, std::sqrt(from * down), down, std::sqrt(std::max(0.0, to * to - down * down))});
    if (i + 1 == times.size()) break;
    sigmas_.insert(sigmas_.end(), {to, to});
    timesteps_.insert(timesteps_.end(), {timestep_of(table, stages_.back().between), times[i + 1]});
  }
  sigmas_.push_back(levels.back());
}

double TwoStageSampler::input_level(int64_t call) const {
  return call % 2 == 0 ? stage(call).from : stage(call).between;
}

at::Tensor TwoStageSampler::step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                                 const NoiseFunction& noise) {
  const Stage& current = stage(call);
  const at::Tensor slope = derivative(call, x, prediction);
  if (call % 2 == 0) {
    start_ = x;
    return x + slope * (current.between - current.from);
  }
  const at::Tensor lowered = start_ + slope * (current.down - current.from);
  return current.up > 0.0 ? lowered + noise(call, x) * current.up : lowered;
}

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
