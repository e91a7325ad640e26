// Loss scaling for fp16: gradients too small for the format are lifted by a factor that adapts itself (Micikevicius et
// al., "Mixed precision training", ICLR 2018, section 3.2), with the numbers of PyTorch's GradScaler.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "cinnabar/optim/flat_parameters.h"

namespace cinnabar::train {

struct GradientScalerOptions {
  double initial_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval_steps = 2000;  // steps without overflow until the scale grows
};

// What a saved state of a run has to keep.
struct GradientScalerState {
  double scale = 1.0;
  int64_t good_steps = 0;  // since the last change of the scale
  friend bool operator==(const GradientScalerState&, const GradientScalerState&) = default;
};

class GradientScaler {
 public:
  // Off: every call does nothing, the scale is 1.
  explicit GradientScaler(bool is_on, const GradientScalerOptions& options = {});

  bool is_on() const { return is_on_; }
  double scale() const { return state_.scale; }
  // What backward starts from.
  at::Tensor scaled(const at::Tensor& loss) const;
  // Divides the collected gradients by the scale; before clipping.
  void unscale(optim::FlatParameters& parameters) const;
  // After every step. With an overflow (gradients that are not finite) the caller has left out optimizer and schedule.
  void update(bool has_overflow);

  const GradientScalerState& state() const { return state_; }
  void restore(const GradientScalerState& state);

 private:
  bool is_on_;
  GradientScalerOptions options_;
  GradientScalerState state_;
};

}  // namespace cinnabar::train
