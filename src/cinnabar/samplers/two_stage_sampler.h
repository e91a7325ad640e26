// DPM-Solver-2 over noise levels: each step looks at a level in between and then goes all the way with that slope.
#pragma once

#include "cinnabar/samplers/sigma_sampler.h"

namespace cinnabar::samplers {

// Lu et al. 2022, "DPM-Solver", algorithm 1, in the form of Karras et al. 2022: the level between s and s' is the root
// of s s'. The ancestral form goes down to s'^2 / s and adds noise so that the level is s' again.
class TwoStageSampler : public SigmaSampler {
 public:
  enum class Form { Plain, Ancestral };
  TwoStageSampler(const SamplerOptions& options, Form form);

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction, const NoiseFunction& noise) override;

 protected:
  double input_level(int64_t call) const override;

 private:
  // Even calls are made at the level of a step, odd ones in between. The last step is one call, straight to 0.
  struct Stage {
    double from;
    double between;
    double down;
    double up;  // of the noise that is added
  };
  const Stage& stage(int64_t call) const { return stages_[static_cast<size_t>(call / 2)]; }

  std::vector<Stage> stages_;
  at::Tensor start_;
};

}  // namespace cinnabar::samplers
