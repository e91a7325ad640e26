// How many steps a run has, and at which of them something is saved. Same numbers as sd-scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::plan {

struct StepOptions {
  int64_t batches_per_epoch = 0;  // of the whole data set, all processes together
  int64_t processes = 1;
  int64_t gradient_accumulation_steps = 1;
  int64_t max_train_steps = 1600;
  std::optional<int64_t> max_train_epochs{};  // over max_train_steps
};

struct StepPlan {
  int64_t batches_per_process = 0;  // micro-batches of one process in an epoch
  int64_t steps_per_epoch = 0;      // optimizer steps; the last one of an epoch may hold fewer micro-batches
  int64_t max_train_steps = 0;
  int64_t epochs = 0;  // begun; the last one may end early
};

// Throws Error{Config} when the data set has no batches or a number is below 1.
StepPlan plan_steps(const StepOptions& options);

// lr_warmup_steps and lr_decay_steps: a whole number is steps, a fraction below 1 a share of max_train_steps (rounded
// down).
int64_t steps_of(double value, int64_t max_train_steps);

struct SaveOptions {
  std::optional<std::string> output_name{};  // unset: "epoch", "at" and "last", by what is saved
  std::optional<int64_t> save_every_n_epochs{};
  std::optional<int64_t> save_every_n_steps{};
  std::optional<int64_t> save_n_epoch_ratio{};        // at least so many saves: every floor(epochs / ratio) epochs
  std::optional<int64_t> save_last_n_epochs{};        // files kept of those saved by epoch
  std::optional<int64_t> save_last_n_steps{};         // counted in steps, not in files
  std::optional<int64_t> save_last_n_epochs_state{};  // over the value above, for states
  std::optional<int64_t> save_last_n_steps_state{};
};

// A save that is due: files are named stem + extension, state folders stem + "-state".
struct Save {
  std::string stem;
  // Stems of an earlier save that is then removed; "" for none.
  std::string removed_stem;
  std::string removed_state_stem;
  friend bool operator==(const Save&, const Save&) = default;
};

// Saves of a run, decided before it starts. Values of 0 or less count as unset: nothing is saved, or everything is
// kept.
class SavePlan {
 public:
  SavePlan(const SaveOptions& options, int64_t epochs);

  // After optimizer step `step` (from 1). Also at the last step, beside the final file.
  std::optional<Save> at_step(int64_t step) const;
  // At the end of epoch `epoch` (from 1); never for the last one, which the final file stands for.
  std::optional<Save> at_epoch_end(int64_t epoch) const;
  std::string final_stem() const;

 private:
  SaveOptions options_;
  int64_t epochs_;
  int64_t every_epochs_ = 0;
  int64_t every_steps_ = 0;
};

}  // namespace cinnabar::plan
