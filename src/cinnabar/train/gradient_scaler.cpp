#include "cinnabar/train/gradient_scaler.h"

#include <cmath>
#include <string>

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"

namespace cinnabar::train {

GradientScaler::GradientScaler(bool is_on, const GradientScalerOptions& options) : is_on_(is_on), options_(options) {
  if (is_on_) state_.scale = options_.initial_scale;
}

at::Tensor GradientScaler::scaled(const at::Tensor& loss) const { return is_on_ ? loss * state_.scale : loss; }

void GradientScaler::unscale(optim::FlatParameters& parameters) const {
  if (is_on_) parameters.scale_gradients(1.0 / state_.scale);
}

void GradientScaler::update(bool has_overflow) {
  if (!is_on_) return;
  if (has_overflow) {
    state_ = {.scale = state_.scale * options_.backoff_factor, .good_steps = 0};
    return;
  }
  if (++state_.good_steps < options_.growth_interval_steps) return;
  const double grown = state_.scale * options_.growth_factor;
  // The scale is an fp32 number in the reference; beyond that it stays.
  if (std::isfinite(static_cast<float>(grown))) state_.scale = grown;
  state_.good_steps = 0;
}

void GradientScaler::restore(const GradientScalerState& state) {
  if (!is_on_) return;
  if (!std::isfinite(state.scale) || state.scale <= 0.0 || state.good_steps < 0) {
    throw base::Error(base::ErrorCode::Format, "state of the loss scale: scale " + std::to_string(state.scale) +
                                                   " after " + std::to_string(state.good_steps) +
                                                   " steps; expected a scale above 0. The saved state is damaged");
  }
  state_ = state;
}

}  // namespace cinnabar::train
