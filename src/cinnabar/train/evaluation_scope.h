// Parameters as they are to be measured, previewed and saved, for the life of this object.
#pragma once

#include <vector>

#include "cinnabar/optim/optimizer.h"
#include "cinnabar/train/ema.h"

namespace cinnabar::train {

// Optimizers with two sets of parameters show the averaged one meanwhile; afterwards the training goes on from the very
// bits that it had.
class EvaluationScope {
 public:
  // All must outlive it. With a moving average (ema) that one is shown; null: none is kept.
  EvaluationScope(optim::Optimizer& optimizer, optim::FlatParameters& parameters, const Ema* ema = nullptr);
  ~EvaluationScope();
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  optim::Optimizer& optimizer_;
  optim::FlatParameters& parameters_;
  std::vector<at::Tensor> before_;
};

}  // namespace cinnabar::train
