#include "cinnabar/plan/steps.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace cinnabar::plan {
namespace {

TEST_CASE("epochs_decide_the_steps_when_given") {
  const StepPlan plan = plan_steps({.batches_per_epoch = 23, .gradient_accumulation_steps = 4, .max_train_epochs = 3});
  CHECK(plan.steps_per_epoch == 6);
  CHECK(plan.max_train_steps == 18);
  CHECK(plan.epochs == 3);
}

TEST_CASE("steps_decide_the_epochs_otherwise") {
  const StepPlan plan =
      plan_steps({.batches_per_epoch = 23, .gradient_accumulation_steps = 4, .max_train_steps = 1000});
  CHECK(plan.max_train_steps == 1000);
  CHECK(plan.epochs == 167);
}

TEST_CASE("processes_share_the_batches") {
  const StepPlan plan =
      plan_steps({.batches_per_epoch = 23, .processes = 2, .gradient_accumulation_steps = 5, .max_train_epochs = 1});
  CHECK(plan.batches_per_process == 12);
  CHECK(plan.steps_per_epoch == 3);
}

TEST_CASE("impossible_numbers_are_config_errors") {
  CHECK_THROWS_AS((void)plan_steps({.batches_per_epoch = 0}), base::Error);
  CHECK_THROWS_AS((void)plan_steps({.batches_per_epoch = 5, .gradient_accumulation_steps = 0}), base::Error);
  CHECK_THROWS_AS((void)plan_steps({.batches_per_epoch = 5, .max_train_steps = 0}), base::Error);
  CHECK_THROWS_AS((void)plan_steps({.batches_per_epoch = 5, .max_train_epochs = 0}), base::Error);
}

TEST_CASE("a_fraction_is_a_share_of_the_steps") {
  CHECK(steps_of(0.1, 1005) == 100);
  CHECK(steps_of(50.0, 1000) == 50);
  CHECK(steps_of(0.0, 1000) == 0);
}

TEST_CASE("epoch_saves_come_every_n_but_not_for_the_last") {
  const SavePlan plan({.output_name = "cat", .save_every_n_epochs = 2}, 6);
  CHECK_FALSE(plan.at_epoch_end(1));
  CHECK(plan.at_epoch_end(2) == Save{.stem = "cat-000002"});
  CHECK(plan.at_epoch_end(4));
  CHECK_FALSE(plan.at_epoch_end(6));
  CHECK_FALSE(plan.at_step(2));
  CHECK(plan.final_stem() == "cat");
}

TEST_CASE("step_saves_come_every_n_also_at_the_end") {
  const SavePlan plan({.save_every_n_steps = 10}, 1);
  CHECK_FALSE(plan.at_step(9));
  CHECK(plan.at_step(10) == Save{.stem = "at-step00000010"});
  CHECK_FALSE(plan.at_step(0));
  CHECK(plan.final_stem() == "last");
}

TEST_CASE("a_ratio_of_epochs_gives_at_least_that_many_saves") {
  const SavePlan plan({.save_every_n_epochs = 7, .save_n_epoch_ratio = 4}, 10);
  CHECK(plan.at_epoch_end(2)->stem == "epoch-000002");
  CHECK_FALSE(plan.at_epoch_end(3));
  CHECK(SavePlan({.save_n_epoch_ratio = 20}, 10).at_epoch_end(1));
}

TEST_CASE("old_epochs_leave_when_new_ones_come") {
  const SavePlan plan(
      {.output_name = "a", .save_every_n_epochs = 2, .save_last_n_epochs = 2, .save_last_n_epochs_state = 1}, 20);
  CHECK(plan.at_epoch_end(2) == Save{.stem = "a-000002"});
  CHECK(plan.at_epoch_end(4) == Save{.stem = "a-000004", .removed_state_stem = "a-000002"});
  CHECK(plan.at_epoch_end(6) == Save{.stem = "a-000006", .removed_stem = "a-000002", .removed_state_stem = "a-000004"});
}

TEST_CASE("saves_of_the_last_steps_are_kept") {
  // sd-scripts' example: every 10 steps, the last 30 kept; step 50 removes step 10.
  const SavePlan plan({.output_name = "a", .save_every_n_steps = 10, .save_last_n_steps = 30}, 1);
  CHECK(plan.at_step(40)->removed_stem.empty());
  CHECK(plan.at_step(50)->removed_stem == "a-step00000010");
  CHECK(plan.at_step(50)->removed_state_stem == "a-step00000010");
  CHECK(plan.at_step(60)->removed_stem == "a-step00000020");
}

TEST_CASE("keeping_zero_keeps_everything") {
  const SavePlan plan(
      {.save_every_n_epochs = 1, .save_every_n_steps = 5, .save_last_n_epochs = 0, .save_last_n_steps = 0}, 9);
  CHECK(plan.at_epoch_end(8)->removed_stem.empty());
  CHECK(plan.at_step(50)->removed_stem.empty());
  CHECK_FALSE(SavePlan({.save_every_n_epochs = 0, .save_every_n_steps = -1}, 9).at_step(1));
}

}  // namespace
}  // namespace cinnabar::plan
