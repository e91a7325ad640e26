#include "cinnabar/plan/steps.h"

#include <algorithm>

#include "cinnabar/base/error.h"

namespace cinnabar::plan {

namespace {

int64_t ceiling_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

void require_positive(int64_t value, const std::string& name) {
  if (value > 0) return;
  throw base::Error(base::ErrorCode::Config, name + " = " + std::to_string(value) + ": expected at least 1");
}

// 0 for what is unset or not positive.
int64_t count_of(const std::optional<int64_t>& value) { return std::max<int64_t>(0, value.value_or(0)); }

std::string padded(int64_t number, size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

std::string epoch_stem(const SaveOptions& options, int64_t epoch) {
  return options.output_name.value_or("epoch") + "-" + padded(epoch, 6);
}

std::string step_stem(const SaveOptions& options, int64_t step) {
  return options.output_name.value_or("at") + "-step" + padded(step, 8);
}

// The save that leaves when `epoch` comes; 0 for none.
int64_t removed_epoch(int64_t epoch, int64_t every, int64_t kept) {
  return kept == 0 ? 0 : std::max<int64_t>(0, epoch - every * kept);
}

// All saves of the last `kept` steps stay, and the one before them leaves.
int64_t removed_step(int64_t step, int64_t every, int64_t kept) {
  if (kept == 0 || step - kept - 1 <= 0) return 0;
  return (step - kept - 1) / every * every;
}

// As an override: a state value of 0 or unset means the value for files.
int64_t kept_states(const std::optional<int64_t>& states, const std::optional<int64_t>& files) {
  return count_of(states) > 0 ? count_of(states) : count_of(files);
}

}  // namespace

StepPlan plan_steps(const StepOptions& options) {
  require_positive(options.processes, "number of processes");
  require_positive(options.gradient_accumulation_steps, "gradient_accumulation_steps");
  if (options.batches_per_epoch < 1) {
    throw base::Error(base::ErrorCode::Config,
                      "the data set gives no batches; check the picture folders and their repeats");
  }
  StepPlan plan;
  plan.batches_per_process = ceiling_of(options.batches_per_epoch, options.processes);
  plan.steps_per_epoch = ceiling_of(plan.batches_per_process, options.gradient_accumulation_steps);
  if (options.max_train_epochs) {
    require_positive(*options.max_train_epochs, "max_train_epochs");
    plan.max_train_steps = *options.max_train_epochs * plan.steps_per_epoch;
  } else {
    require_positive(options.max_train_steps, "max_train_steps");
    plan.max_train_steps = options.max_train_steps;
  }
  plan.epochs = ceiling_of(plan.max_train_steps, plan.steps_per_epoch);
  return plan;
}

int64_t steps_of(double value, int64_t max_train_steps) {
  return static_cast<int64_t>(value < 1.0 ? value * static_cast<double>(max_train_steps) : value);
}

SavePlan::SavePlan(const SaveOptions& options, int64_t epochs)
    : options_(options),
      epochs_(epochs),
      every_epochs_(count_of(options.save_every_n_epochs)),
      every_steps_(count_of(options.save_every_n_steps)) {
  const int64_t ratio = count_of(options.save_n_epoch_ratio);
  if (ratio > 0) every_epochs_ = std::max<int64_t>(1, epochs / ratio);
}

std::optional<Save> SavePlan::at_step(int64_t step) const {
  if (every_steps_ == 0 || step <= 0 || step % every_steps_ != 0) return std::nullopt;
  Save save{.stem = step_stem(options_, step)};
  if (const int64_t old = removed_step(step, every_steps_, count_of(options_.save_last_n_steps)); old > 0) {
    save.removed_stem = step_stem(options_, old);
  }
  const int64_t states = kept_states(options_.save_last_n_steps_state, options_.save_last_n_steps);
  if (const int64_t old = removed_step(step, every_steps_, states); old > 0) {
    save.removed_state_stem = step_stem(options_, old);
  }
  return save;
}

std::optional<Save> SavePlan::at_epoch_end(int64_t epoch) const {
  if (every_epochs_ == 0 || epoch <= 0 || epoch >= epochs_ || epoch % every_epochs_ != 0) return std::nullopt;
  Save save{.stem = epoch_stem(options_, epoch)};
  if (const int64_t old = removed_epoch(epoch, every_epochs_, count_of(options_.save_last_n_epochs)); old > 0) {
    save.removed_stem = epoch_stem(options_, old);
  }
  const int64_t states = kept_states(options_.save_last_n_epochs_state, options_.save_last_n_epochs);
  if (const int64_t old = removed_epoch(epoch, every_epochs_, states); old > 0) {
    save.removed_state_stem = epoch_stem(options_, old);
  }
  return save;
}

std::string SavePlan::final_stem() const { return options_.output_name.value_or("last"); }

}  // namespace cinnabar::plan
