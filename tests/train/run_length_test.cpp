#include "cinnabar/train/run_length.h"

#include <doctest/doctest.h>

#include "cinnabar/data/batch_plan.h"
#include "cinnabar/data/regularisation.h"

namespace cinnabar::train {
namespace {

constexpr data::Size kSquare{512, 512};
constexpr data::Size kWide{640, 384};

data::Sample sample(data::Size size, bool is_reg) {
  return {.bucket = {.bucket = size, .resized = size}, .is_reg = is_reg, .subset = is_reg ? size_t{1} : size_t{0}};
}

// Four square training pictures; regularisation pictures of both shapes, so that the length of epochs varies.
std::vector<data::Dataset> varying() {
  data::Dataset dataset;
  dataset.options.batch_size = 4;
  dataset.options.subsets = {{.num_repeats = 1}, {.is_reg = true}};
  for (int i = 0; i < 4; ++i) dataset.samples.push_back(sample(kSquare, false));
  for (int i = 0; i < 9; ++i) dataset.samples.push_back(sample(i < 4 ? kSquare : kWide, true));
  data::balance_regularisation(dataset);
  return {dataset};
}

schema::Values values(const char* name, int64_t value) {
  schema::Values result;
  result.set("seed", int64_t{3});
  result.set(name, value);
  return result;
}

TEST_CASE("epochs_of_different_length_are_counted_one_by_one") {
  const auto datasets = varying();
  int64_t expected = 0;
  bool varies = false;
  for (uint64_t epoch = 1; epoch <= 5; ++epoch) {
    const int64_t batches = data::batch_count(datasets, 3, epoch);
    CHECK(static_cast<int64_t>(data::plan_epoch(datasets, 3, epoch).size()) == batches);
    varies = varies || batches != data::batch_count(datasets);
    expected += batches;
  }
  CHECK(varies);
  const plan::StepPlan by_epochs = plan_run(datasets, values("max_train_epochs", 5));
  CHECK(by_epochs.epochs == 5);
  CHECK(by_epochs.max_train_steps == expected);
  const plan::StepPlan by_steps = plan_run(datasets, values("max_train_steps", expected));
  CHECK(by_steps.epochs == 5);
  CHECK(by_steps.max_train_steps == expected);
}

TEST_CASE("runs_without_rotation_follow_the_reference_arithmetic") {
  auto datasets = varying();
  std::erase_if(datasets[0].samples, [](const data::Sample& one) { return one.is_reg; });
  schema::Values options = values("max_train_epochs", 3);
  const plan::StepPlan plan = plan_run(datasets, options);
  CHECK(plan.max_train_steps == 3);
  CHECK(plan.epochs == 3);
  const auto lines = length_text(datasets, options, plan);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "Data: 4 pictures with repeats, in batches of 4 at 512x512 pixels: 1 batch an epoch.");
  CHECK(lines[1] == "Steps: 1 batch = 1 an epoch, 3 epochs, 3 steps.");
}

}  // namespace
}  // namespace cinnabar::train
