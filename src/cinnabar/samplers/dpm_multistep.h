// DPM-Solver in its multistep forms: with the clean or the noise part, deterministic or with fresh noise.
#pragma once

#include "cinnabar/samplers/solver_sampler.h"

namespace cinnabar::samplers {

// Lu et al. 2022, "DPM-Solver" (noise part) and "DPM-Solver++" (clean part; with noise: its SDE form). Orders 1 to 3.
class DpmMultistep : public SolverSampler {
 public:
  enum class Form { Noise, Clean, CleanWithNoise };
  DpmMultistep(const SamplerOptions& options, Form form);

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction, const NoiseFunction& noise) override;

 private:
  // The order of a step: low at the start, where less is known, and at the end of short runs.
  int64_t order_at(int64_t call) const;
  at::Tensor step_of_order(int64_t call, int64_t order, const at::Tensor& x) const;

  Form form_;
  bool is_heun_;  // how second order weighs the slope: "heun" by its integral, "midpoint" by half
};

}  // namespace cinnabar::samplers
