// The interface of optimizers: one step over flat buffers, and state that is saved and restored bit by bit.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/optim/flat_parameters.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One step on every group from the gradients as they are; `rates` has the learning rate of each group. Gradients are
  // left alone: call FlatParameters::zero_gradients before the next backward.
  virtual void step(std::span<const double> rates) = 0;

  // The live state, under names that are unique over all groups ("exp_avg.GROUP"); the same list in every call.
  virtual NamedTensors state() = 0;

  // Optimizers that keep two sets of parameters (schedule-free ones) switch between them; others do nothing.
  virtual void enter_training() {}
  virtual void enter_evaluation() {}
};

// The parameters must outlive the optimizer. Throws Error{Config} for values that do not fit together.
using OptimizerFactory = std::function<std::unique_ptr<Optimizer>(FlatParameters&, const schema::Values&)>;
base::Registry<OptimizerFactory>& factories();

// `optimizer_type` and `optimizer_args` as the user gave them. Throws Error{Config}.
std::unique_ptr<Optimizer> make_optimizer(const std::string& optimizer_type, const std::vector<std::string>& arguments,
                                          FlatParameters& parameters);

// Copies saved state into the optimizer. Throws Error{Format} if names, types or sizes differ from the optimizer's own.
void restore_state(Optimizer& optimizer, const NamedTensors& saved);

}  // namespace cinnabar::optim

#define CINNABAR_REGISTER_OPTIMIZER_FACTORY(identifier, ...)    \
  static const bool registered_optimizer_factory_##identifier = \
      ::cinnabar::optim::factories().add(#identifier, __VA_ARGS__)
