// Element-wise losses and per-sample weights, as functions by name.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::loss {

// B batch.
// prediction, target: fp32, same shape [B, ...]; threshold: fp32 [B, 1, ...] or undefined for losses without one.
// Returns a tensor shaped like `prediction`.
struct ElementLoss {
  std::function<at::Tensor(const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& threshold)> apply;
  bool has_threshold = false;
};
base::Registry<ElementLoss>& element_losses();

// SNR of a clean first timestep may be huge; all weights but min_snr_gamma cap it here, as the reference does.
constexpr double kMaxSnr = 1000.0;

// loss [B] fp32; snr [B] fp32: signal-to-noise ratios from the table before any zero-terminal rescale. The value is
// that of the weight's option (1 for flags). Returns the weighted loss [B].
struct WeightInputs {
  at::Tensor snr;
  double value = 1.0;
  bool is_velocity = false;  // the model predicts v instead of the noise
};
struct SampleWeight {
  std::function<at::Tensor(const at::Tensor& loss, const WeightInputs& inputs)> apply;
  bool needs_velocity = false;    // Error{Config} when the model predicts the noise
  bool refuses_velocity = false;  // Error{Config} when the model predicts v
};
base::Registry<SampleWeight>& sample_weights();

}  // namespace cinnabar::loss

#define CINNABAR_REGISTER_ELEMENT_LOSS(identifier, ...)    \
  static const bool registered_element_loss_##identifier = \
      ::cinnabar::loss::element_losses().add(#identifier, ::cinnabar::loss::ElementLoss __VA_ARGS__)
#define CINNABAR_REGISTER_SAMPLE_WEIGHT(identifier, ...)    \
  static const bool registered_sample_weight_##identifier = \
      ::cinnabar::loss::sample_weights().add(#identifier, ::cinnabar::loss::SampleWeight __VA_ARGS__)
