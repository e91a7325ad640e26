// What samplers that walk along whole timesteps of the noise table share: signal shares, and the parts of a prediction.
#pragma once

#include "cinnabar/samplers/sampler.h"

namespace cinnabar::samplers {

// x = sqrt(a) clean + sqrt(1 - a) noise, a the cumulative signal share of a timestep. The model sees x as it is.
class TableSampler : public Sampler {
 protected:
  // `ends_at_clean` is the sampler's own choice, which the options may overrule: whether the last share is 1 or that
  // of the first timestep.
  TableSampler(const SamplerOptions& options, bool ends_at_clean);

  int64_t table_steps() const { return static_cast<int64_t>(alphas_.size()); }
  int64_t timestep(int64_t call) const { return static_cast<int64_t>(timesteps_[static_cast<size_t>(call)]); }
  // The share of a timestep; of a negative one, the last share. Beyond the table it is that of its last entry.
  double alpha_at(int64_t timestep) const;

  // The parts of x, of share `alpha`, by the model's prediction. The clean part is clipped when the options say so.
  at::Tensor clean_part(double alpha, const at::Tensor& x, const at::Tensor& prediction) const;
  at::Tensor noise_part(double alpha, const at::Tensor& x, const at::Tensor& prediction) const;

 private:
  Prediction prediction_;
  bool clips_;
  double last_alpha_;
  std::vector<double> alphas_;
};

}  // namespace cinnabar::samplers
