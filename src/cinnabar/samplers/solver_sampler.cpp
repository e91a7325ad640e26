#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/solver_sampler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "cinnabar/samplers/noise_levels.h"

namespace cinnabar::samplers {

namespace {

// One whole timestep more than there are steps; the least noisy one is left out.
std::vector<double> solver_timesteps(Spacing spacing, const SamplerOptions& options, int64_t table_steps) {
  if (spacing == Spacing::Trailing) return spaced_timesteps(spacing, table_steps, options.steps, 0);
  std::vector<double> timesteps = spaced_timesteps(spacing, table_steps, options.steps + 1, options.timestep_offset);
  timesteps.pop_back();
  for (double& timestep : timesteps) timestep = std::nearbyint(timestep);
  return timesteps;
}

}  // namespace

SolverSampler::SolverSampler(const SamplerOptions& options, const Settings& settings)
    : prediction_(options.prediction),
      order_(options.solver_order > 0 ? std::min<int64_t>(options.solver_order, 3) : settings.own_order) {
  const std::vector<double> table = table_sigmas(table_shares(options));
  const bool is_named = settings.has_spacing && !options.timestep_spacing.empty();
  const Spacing spacing = is_named ? spacing_from(options.timestep_spacing) : Spacing::Linspace;
  timesteps_ = solver_timesteps(spacing, options, static_cast<int64_t>(table.size()));
  for (const double timestep : timesteps_) sigmas_.push_back(sigma_at(table, timestep));
  if (options.has_karras_sigmas) {
    sigmas_ = karras_sigmas(table.front(), table.back(), options.steps);
    for (size_t i = 0; i < sigmas_.size(); ++i) timesteps_[i] = std::nearbyint(timestep_of(table, sigmas_[i]));
  }
  sigmas_.push_back(options.ends_at_clean.value_or(settings.ends_at_clean) ? 0.0 : table.front());
}

double SolverSampler::signal(int64_t level) const { return 1.0 / std::sqrt(sigma(level) * sigma(level) + 1.0); }

double SolverSampler::spread(int64_t level) const { return sigma(level) * signal(level); }

double SolverSampler::length(int64_t from, int64_t to) const { return std::log(sigma(from) / sigma(to)); }

at::Tensor SolverSampler::clean_part(int64_t level, const at::Tensor& x, const at::Tensor& prediction) const {
  if (prediction_ == Prediction::Velocity) return x * signal(level) - prediction * spread(level);
  return (x - prediction * spread(level)) / signal(level);
}

at::Tensor SolverSampler::noise_part(int64_t level, const at::Tensor& x, const at::Tensor& prediction) const {
  if (prediction_ == Prediction::Epsilon) return prediction;
  return prediction * signal(level) + x * spread(level);
}

void SolverSampler::remember(int64_t call, const at::Tensor& part) {
  if (call == 0) parts_.clear();
  parts_.insert(parts_.begin(), part);
  if (static_cast<int64_t>(parts_.size()) > order_) parts_.pop_back();
}

int64_t SolverSampler::usable_order(int64_t call, int64_t wanted) const {
  int64_t usable = 1;
  const int64_t most = std::min({wanted, call + 1, static_cast<int64_t>(parts_.size())});
  while (usable < most && sigma(call - usable) != sigma(call - usable + 1)) ++usable;
  return usable;
}

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
