// The optimizer of a run with its learning rates, by the options and the rules between them.
#pragma once

#include <memory>
#include <span>

#include "cinnabar/base/events.h"
#include "cinnabar/lr/schedule.h"
#include "cinnabar/optim/optimizer.h"
#include "cinnabar/train/training_log.h"

namespace cinnabar::train {

struct RunOptimizer {
  std::unique_ptr<optim::Optimizer> optimizer;
  lr::Rates rates;
};

// Completes `values` where the optimizer decides other settings (optim/run_rules.h), and tells the user what changes.
// `parameters` has all groups and must outlive the result. Throws Error{Config}.
RunOptimizer make_run_optimizer(schema::Values& values, optim::FlatParameters& parameters, int64_t total_steps,
                                base::EventSink& events);

// Adds the rates of a step to `report` under the names of the groups; with D-Adaptation and Prodigy "lr/d*lr/NAME",
// too, which is what the parameters saw. `rates` are those that the step was given.
void report_rates(const optim::Optimizer& optimizer, const optim::FlatParameters& parameters,
                  std::span<const double> rates, StepReport& report);

}  // namespace cinnabar::train
