// Pseudo numerical methods (PNDM): linear multistep over the predictions, with or without a Runge-Kutta start.
#pragma once

#include "cinnabar/samplers/table_sampler.h"

namespace cinnabar::samplers {

// Liu et al. 2022, "Pseudo numerical methods for diffusion models on manifolds", algorithm 2. What is joined over the
// calls are the model's predictions as they come; v becomes noise after that, as in the reference.
class PseudoMultistep : public TableSampler {
 public:
  // RungeKutta: the first three steps take four calls each. Doubled: the first step is made twice instead (PLMS).
  enum class Start { RungeKutta, Doubled };
  PseudoMultistep(const SamplerOptions& options, Start start);

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction, const NoiseFunction& noise) override;

 private:
  at::Tensor runge_kutta_step(int64_t call, const at::Tensor& x, const at::Tensor& prediction);
  at::Tensor multistep(int64_t call, const at::Tensor& x, const at::Tensor& prediction);
  // From one timestep to another along `prediction`.
  at::Tensor moved(const at::Tensor& x, const at::Tensor& prediction, int64_t from, int64_t to) const;
  void remember(const at::Tensor& prediction);

  int64_t stride_ = 1;
  int64_t start_calls_ = 0;  // of the Runge-Kutta start
  bool is_doubled_ = false;
  at::Tensor start_x_;
  at::Tensor gathered_;
  std::vector<at::Tensor> predictions_;  // newest first, four at most
};

}  // namespace cinnabar::samplers
