#include "cinnabar/train/evaluation_scope.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace cinnabar::train {

EvaluationScope::EvaluationScope(optim::Optimizer& optimizer, optim::FlatParameters& parameters, const Ema* ema)
    : optimizer_(optimizer), parameters_(parameters) {
  for (const optim::ParameterGroup& group : parameters_.groups()) before_.push_back(group.values.clone());
  optimizer_.enter_evaluation();
  parameters_.store_values();
  if (ema != nullptr) ema->show();
}

EvaluationScope::~EvaluationScope() {
  const at::NoGradGuard no_grad;
  optimizer_.enter_training();
  // Going there and back rounds: the copy does not.
  for (size_t i = 0; i < before_.size(); ++i) parameters_.groups()[i].values.copy_(before_[i]);
  parameters_.store_values();
}

}  // namespace cinnabar::train
