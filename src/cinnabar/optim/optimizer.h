// The interface of optimizers: one step over flat buffers, and state that is saved and restored bit by bit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
  // A run starts in training; calling one twice is calling it once. Going there and back rounds.
  virtual void enter_training() {}
  virtual void enter_evaluation() {}

  // Rates of the groups as the last step used them, for reports; `rates` are those it was given.
  virtual std::vector<double> effective_rates(std::span<const double> rates) const {
    return {rates.begin(), rates.end()};
  }
  // d, by which D-Adaptation and Prodigy multiply the rates; others have none.
  virtual std::optional<double> step_estimate() const { return std::nullopt; }
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
