#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/sigma_sampler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace cinnabar::samplers {

SigmaSampler::SigmaSampler(const SamplerOptions& options)
    : prediction_(options.prediction),
      spacing_(options.timestep_spacing.empty() ? Spacing::Linspace : spacing_from(options.timestep_spacing)) {
  const std::vector<double> table = table_sigmas(table_shares(options));
  timesteps_ = spaced_timesteps(spacing_, static_cast<int64_t>(table.size()), options.steps, options.timestep_offset);
  for (const double timestep : timesteps_) sigmas_.push_back(sigma_at(table, timestep));
  if (options.has_karras_sigmas) {
    sigmas_ = karras_sigmas(sigmas_.back(), sigmas_.front(), options.steps);
    for (size_t i = 0; i < sigmas_.size(); ++i) timesteps_[i] = timestep_of(table, sigmas_[i]);
  }
  sigmas_.push_back(0.0);
}

double SigmaSampler::initial_scale() const {
  const double highest = *std::max_element(sigmas_.begin(), sigmas_.end());
  // Leading timesteps do not reach the noisiest level, so that the picture's own share of variance counts, too.
  return spacing_ == Spacing::Leading ? std::sqrt(highest * highest + 1.0) : highest;
}

at::Tensor SigmaSampler::scale_input(const at::Tensor& x, int64_t call) const {
  return x / std::sqrt(input_level(call) * input_level(call) + 1.0);
}

at::Tensor SigmaSampler::derivative(int64_t call, const at::Tensor& x, const at::Tensor& prediction) const {
  if (prediction_ == Prediction::Epsilon) return prediction;
  const double level = input_level(call);
  const double variance = level * level + 1.0;
  const at::Tensor clean = x / variance - prediction * (level / std::sqrt(variance));
  return (x - clean) / level;
}

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
