#include "cinnabar/train/ema.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace cinnabar::train {

Ema::Ema(optim::FlatParameters& parameters, const EmaOptions& options) : parameters_(parameters), options_(options) {
  for (const optim::ParameterGroup& group : parameters_.groups()) averages_.push_back(group.values.clone());
}

std::unique_ptr<Ema> Ema::from(const schema::Values& values, optim::FlatParameters& parameters) {
  if (!values.flag("ema")) return nullptr;
  EmaOptions options;
  options.decay = values.maybe_number("ema_decay").value_or(options.decay);
  options.update_every_steps = values.maybe_integer("ema_update_every").value_or(options.update_every_steps);
  return std::make_unique<Ema>(parameters, options);
}

double Ema::decay_at(int64_t update) const {
  const auto n = static_cast<double>(update);
  return std::min(options_.decay, (1.0 + n) / (10.0 + n));
}

void Ema::after_step(int64_t step) {
  if (step % options_.update_every_steps != 0) return;
  const at::NoGradGuard no_grad;
  const double kept = decay_at(updates_++);
  for (size_t i = 0; i < averages_.size(); ++i) averages_[i].lerp_(parameters_.groups()[i].values, 1.0 - kept);
}

void Ema::show() const {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < averages_.size(); ++i) {
    at::Tensor values = parameters_.groups()[i].values;
    values.copy_(averages_[i]);
  }
  parameters_.store_values();
}

optim::NamedTensors Ema::state() {
  optim::NamedTensors result;
  for (size_t i = 0; i < averages_.size(); ++i)
    result.emplace_back("average." + parameters_.groups()[i].name, averages_[i]);
  return result;
}

}  // namespace cinnabar::train
