#include "cinnabar/train/run_length.h"

#include <algorithm>

#include "cinnabar/base/counted.h"
#include "cinnabar/data/batch_plan.h"
#include "cinnabar/data/regularisation.h"

namespace cinnabar::train {

namespace {

int64_t accumulation_of(const schema::Values& values) {
  return values.maybe_integer("gradient_accumulation_steps").value_or(1);
}

uint64_t seed_of(const schema::Values& values) {
  return static_cast<uint64_t>(values.maybe_integer("seed").value_or(0));
}

}  // namespace

plan::StepPlan plan_run(const std::vector<data::Dataset>& datasets, const schema::Values& values) {
  const auto epochs = values.maybe_integer("max_train_epochs");
  const int64_t accumulation = accumulation_of(values);
  plan::StepPlan plan = plan::plan_steps({.batches_per_epoch = data::batch_count(datasets),
                                          .gradient_accumulation_steps = accumulation,
                                          .max_train_steps = values.maybe_integer("max_train_steps").value_or(1600),
                                          .max_train_epochs = epochs});
  if (std::ranges::none_of(datasets, data::rotates)) return plan;
  int64_t steps = 0;
  int64_t epoch = 0;
  while (epochs ? epoch < *epochs : steps < plan.max_train_steps) {
    ++epoch;
    const int64_t batches = data::batch_count(datasets, seed_of(values), static_cast<uint64_t>(epoch));
    steps += (batches + accumulation - 1) / accumulation;
  }
  plan.epochs = epoch;
  if (epochs) plan.max_train_steps = steps;
  return plan;
}

std::vector<std::string> length_text(const std::vector<data::Dataset>& datasets, const schema::Values& values,
                                     const plan::StepPlan& plan) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < datasets.size(); ++i) {
    const data::RegularisationCount count = data::regularisation_count(datasets[i]);
    std::string line = datasets.size() == 1 ? "Data: " : "Data set " + std::to_string(i + 1) + ": ";
    line += base::counted(count.wanted, "picture") + " with repeats";
    if (count.pictures > 0) line += " and " + std::to_string(count.used) + " of regularisation";
    const std::vector<data::BucketCount> counts = data::bucket_counts(datasets[i]);
    const size_t buckets = counts.size();
    const data::Size size = buckets == 1 ? counts.front().size : datasets[i].options.bucket.resolution;
    line += ", in batches of " + std::to_string(datasets[i].options.batch_size) + " at " +
            (buckets > 1 ? "about " : "") + data::to_string(size) + " pixels" +
            (buckets > 1 ? " (" + std::to_string(buckets) + " buckets)" : "") + ": " +
            base::counted(data::batch_count({datasets[i]}), "batch") + " an epoch.";
    lines.push_back(std::move(line));
  }
  const int64_t accumulation = accumulation_of(values);
  std::string steps = "Steps: " + base::counted(plan.batches_per_process, "batch");
  if (accumulation > 1) steps += " / " + std::to_string(accumulation) + " (gradient_accumulation_steps)";
  steps += " = " + std::to_string(plan.steps_per_epoch) + " an epoch, " + base::counted(plan.epochs, "epoch") + ", " +
           base::counted(plan.max_train_steps, "step") + ".";
  if (std::ranges::any_of(datasets, data::rotates)) {
    steps += " Regularisation pictures change from epoch to epoch, so some epochs may be a little longer or shorter.";
  }
  lines.push_back(std::move(steps));
  return lines;
}

}  // namespace cinnabar::train
