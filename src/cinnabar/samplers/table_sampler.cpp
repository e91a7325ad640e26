#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/table_sampler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace cinnabar::samplers {

TableSampler::TableSampler(const SamplerOptions& options, bool ends_at_clean)
    : prediction_(options.prediction), clips_(options.clips_sample), alphas_(table_shares(options)) {
  last_alpha_ = options.ends_at_clean.value_or(ends_at_clean) ? 1.0 : alphas_.front();
}

double TableSampler::alpha_at(int64_t timestep) const {
  if (timestep < 0) return last_alpha_;
  return alphas_[static_cast<size_t>(std::min(timestep, table_steps() - 1))];
}

at::Tensor TableSampler::clean_part(double alpha, const at::Tensor& x, const at::Tensor& prediction) const {
  const double signal = std::sqrt(alpha);
  const double spread = std::sqrt(1.0 - alpha);
  const bool is_velocity = prediction_ == Prediction::Velocity;
  const at::Tensor clean = is_velocity ? x * signal - prediction * spread : (x - prediction * spread) / signal;
  return clips_ ? clean.clamp(-1.0, 1.0) : clean;
}

at::Tensor TableSampler::noise_part(double alpha, const at::Tensor& x, const at::Tensor& prediction) const {
  if (prediction_ == Prediction::Epsilon) return prediction;
  return prediction * std::sqrt(alpha) + x * std::sqrt(1.0 - alpha);
}

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
