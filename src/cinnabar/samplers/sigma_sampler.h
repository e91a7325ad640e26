// What samplers that work with noise levels (sigmas) share: the levels of a run and the clean latents of a prediction.
#pragma once

#include "cinnabar/samplers/noise_levels.h"
#include "cinnabar/samplers/sampler.h"

namespace cinnabar::samplers {

// x = clean + sigma * noise; the model sees x / sqrt(sigma^2 + 1). The last sigma is 0.
class SigmaSampler : public Sampler {
 public:
  explicit SigmaSampler(const SamplerOptions& options);

  double initial_scale() const override;
  at::Tensor scale_input(const at::Tensor& x, int64_t call) const override;

 protected:
  // The level of the model's input at a call.
  virtual double input_level(int64_t call) const { return sigma(call); }
  // sigma before and after a call.
  double sigma(int64_t call) const { return sigmas_[static_cast<size_t>(call)]; }
  // d x / d sigma: the noise in x, from the model's prediction at `call`.
  at::Tensor derivative(int64_t call, const at::Tensor& x, const at::Tensor& prediction) const;

 private:
  Prediction prediction_;
  Spacing spacing_;
};

}  // namespace cinnabar::samplers
