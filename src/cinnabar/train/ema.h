// A slowly following average of what is trained (exponential moving average): smoother than the weights of any one
// step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/optim/flat_parameters.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

struct EmaOptions {
  double decay = 0.999;            // share of the average that an update keeps, once warmed up
  int64_t update_every_steps = 1;  // optimizer steps between updates
};

class Ema {
 public:
  // Starts from the values as they are. The parameters must outlive the average.
  Ema(optim::FlatParameters& parameters, const EmaOptions& options);

  // From ema, ema_decay and ema_update_every; null without ema.
  static std::unique_ptr<Ema> from(const schema::Values& values, optim::FlatParameters& parameters);

  // After optimizer step number `step` (from 1). average += (1 - decay) * (values - average).
  void after_step(int64_t step);
  // The share kept by update number `update` (from 0): min(decay, (1 + n) / (10 + n)), so that an average over few
  // steps is not still full of the starting values.
  double decay_at(int64_t update) const;

  // Puts the average in the place of the values; EvaluationScope takes them back afterwards.
  void show() const;

  // What a saved state of a run has to keep: the live buffers ("average.GROUP") and the count of updates.
  optim::NamedTensors state();
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }

 private:
  optim::FlatParameters& parameters_;
  EmaOptions options_;
  std::vector<at::Tensor> averages_;  // fp32, one a group
  int64_t updates_ = 0;
};

}  // namespace cinnabar::train
