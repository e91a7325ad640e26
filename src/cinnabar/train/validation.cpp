#include "cinnabar/train/validation.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace cinnabar::train {

namespace {

constexpr int64_t kTimesteps = 4;
// Draws of the validation lie beyond every epoch of a training with the same seed.
constexpr uint64_t kFirstKey = uint64_t{1} << 48U;

}  // namespace

Validation::Validation(const schema::Values& values, std::vector<data::Dataset> datasets, uint64_t seed,
                       int64_t table_steps)
    : datasets_(std::move(datasets)), seed_(seed) {
  if (const auto own = values.maybe_integer("validation_seed")) seed_ = static_cast<uint64_t>(*own);
  every_n_steps_ = values.maybe_integer("validate_every_n_steps").value_or(0);
  every_n_epochs_ = values.maybe_integer("validate_every_n_epochs").value_or(1);
  most_batches_ = values.maybe_integer("max_validation_steps").value_or(0);
  const int64_t low = values.maybe_integer("min_timestep").value_or(0);
  const int64_t high = values.maybe_integer("max_timestep").value_or(table_steps);
  for (int64_t i = 1; i <= kTimesteps; ++i) {
    timesteps_.push_back(std::min(low + (high - low) * i / (kTimesteps + 1), table_steps - 1));
  }
}

int64_t Validation::picture_count() const {
  int64_t count = 0;
  for (const data::Dataset& dataset : datasets_) count += dataset.item_count();
  return count;
}

bool Validation::is_due_at_step(int64_t step) const {
  return is_on() && every_n_steps_ > 0 && step % every_n_steps_ == 0;
}

bool Validation::is_due_at_epoch_end(int64_t epoch) const { return is_on() && epoch % every_n_epochs_ == 0; }

bool Validation::is_measured(int64_t step) const {
  return std::ranges::any_of(losses_, [&](const ValidationLoss& one) { return one.step == step; });
}

std::optional<double> Validation::measure(int64_t step, const Tools& tools) {
  if (!losses_.empty() && losses_.back().step == step) return losses_.back().loss;
  const at::NoGradGuard no_grad;
  // Always the first epoch of its seed: the same batches, captions and flips in every measurement.
  data::Loader loader(datasets_, {.seed = seed_, .threads = tools.threads, .latents = tools.latents});
  const int64_t all = data::batch_count(datasets_);
  const int64_t batches = most_batches_ > 0 ? std::min(most_batches_, all) : all;
  double sum = 0.0;
  int64_t count = 0;
  for (int64_t done = 0; done < batches && loader.has_next(); ++done) {
    const data::LoadedBatch batch = loader.next();
    for (size_t i = 0; i < timesteps_.size(); ++i) {
      if (tools.stop != nullptr && *tools.stop) return std::nullopt;
      StepInputs inputs = tools.inputs.of(batch, {.seed = seed_, .step = kFirstKey + i});
      inputs.timesteps = at::full_like(inputs.timesteps, timesteps_[i]);
      const at::Tensor losses = tools.step.run(inputs).per_sample;
      sum += losses.to(at::kDouble).sum().item<double>();
      count += losses.numel();
    }
    if (tools.progress) tools.progress(done + 1, batches);
  }
  losses_.push_back({step, sum / static_cast<double>(std::max<int64_t>(1, count))});
  return losses_.back().loss;
}

}  // namespace cinnabar::train
