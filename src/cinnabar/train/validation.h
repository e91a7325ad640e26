// The held-out loss of a run: the same pictures, noise and timesteps at every measurement, without dropouts and without
// any effect on the training.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "cinnabar/data/latent_cache.h"
#include "cinnabar/schema/values.h"
#include "cinnabar/train/batch_inputs.h"
#include "cinnabar/train/validation_verdict.h"

namespace cinnabar::train {

class Validation {
 public:
  // `datasets` as data::take_validation gives them; empty: never due. Reads validation_seed (else `seed`),
  // validate_every_n_steps, validate_every_n_epochs, max_validation_steps, min_timestep and max_timestep.
  // `table_steps` is the length of the noise table.
  Validation(const schema::Values& values, std::vector<data::Dataset> datasets, uint64_t seed, int64_t table_steps);

  bool is_on() const { return !datasets_.empty(); }
  const std::vector<data::Dataset>& datasets() const { return datasets_; }
  int64_t picture_count() const;

  // Every n steps when asked for; at the end of each epoch, or of each n-th one.
  bool is_due_at_step(int64_t step) const;
  bool is_due_at_epoch_end(int64_t epoch) const;
  // The inner four of six equally spaced timesteps of the training's range.
  const std::vector<int64_t>& timesteps() const { return timesteps_; }

  struct Tools {
    const BatchInputs& inputs;
    const TrainingStep& step;
    const data::LatentCache* latents = nullptr;  // filled for datasets(), or null
    size_t threads = 1;                          // that read pictures
    std::function<void(int64_t done, int64_t total)> progress = {};
    const std::atomic<bool>* stop = nullptr;  // may be null
  };
  // Mean loss over pictures and timesteps, at most max_validation_steps batches; remembered for the verdict. Measuring
  // twice at one step gives the known value. Nothing, and nothing remembered, when `stop` became true on the way.
  // Network dropouts must be off, the model in evaluation.
  std::optional<double> measure(int64_t step, const Tools& tools);
  bool is_measured(int64_t step) const;

  const std::vector<ValidationLoss>& losses() const { return losses_; }
  // The measurements of the run that is resumed.
  void restore(std::vector<ValidationLoss> losses) { losses_ = std::move(losses); }
  Verdict verdict() const { return verdict_of(losses_); }

 private:
  std::vector<data::Dataset> datasets_;
  uint64_t seed_ = 0;
  int64_t every_n_steps_ = 0;  // 0: not by steps
  int64_t every_n_epochs_ = 1;
  int64_t most_batches_ = 0;  // 0: all
  std::vector<int64_t> timesteps_;
  std::vector<ValidationLoss> losses_;
};

}  // namespace cinnabar::train
