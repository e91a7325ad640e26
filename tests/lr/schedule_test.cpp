#include <doctest/doctest.h>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

TEST_CASE("linear and cosine end at 0 and are half way down in the middle") {
  for (const char* name : {"linear", "cosine"}) {
    const Schedule schedule = make_schedule(name, {.total_steps = 110, .warmup_steps = 10}, {});
    CHECK(schedule(60) == doctest::Approx(0.5));
    CHECK(schedule(110) == doctest::Approx(0.0));
  }
}

TEST_CASE("cosine_with_restarts jumps back up") {
  const Schedule schedule = make_schedule("cosine_with_restarts", {.total_steps = 90, .cycles = 3}, {});
  CHECK(schedule(29) < 0.01);
  CHECK(schedule(30) == doctest::Approx(1.0));
  CHECK(schedule(90) == 0.0);
}

TEST_CASE("polynomial ends at an absolute rate") {
  const Schedule schedule =
      make_schedule("polynomial", {.total_steps = 10, .learning_rate = 1e-3, .power = 2.0}, {"lr_end=1e-4"});
  CHECK(schedule(5) == doctest::Approx(0.9 * 0.25 + 0.1));
  CHECK(schedule(10) == doctest::Approx(0.1));
  CHECK(schedule(11) == doctest::Approx(0.1));
}

TEST_CASE("inverse_sqrt falls to a half at four times the time scale") {
  CHECK(make_schedule("inverse_sqrt", {.total_steps = 100, .warmup_steps = 10}, {})(40) == doctest::Approx(0.5));
  CHECK(make_schedule("inverse_sqrt", {.total_steps = 100, .timescale = 25}, {})(75) == doctest::Approx(0.5));
}

TEST_CASE("cosine_with_min_lr and warmup_stable_decay end at the lowest share") {
  const Schedule cosine = make_schedule("cosine_with_min_lr", {.total_steps = 100, .min_lr_ratio = 0.2}, {});
  CHECK(cosine(50) == doctest::Approx(0.6));
  CHECK(cosine(100) == doctest::Approx(0.2));
  const Schedule stable =
      make_schedule("warmup_stable_decay", {.total_steps = 100, .decay_steps = 20, .min_lr_ratio = 0.2}, {});
  CHECK(stable(80) == doctest::Approx(1.0));
  CHECK(stable(90) == doctest::Approx(0.6));
  CHECK(stable(100) == doctest::Approx(0.2));
}

TEST_CASE("piecewise_constant follows its rules") {
  const Schedule schedule =
      make_schedule("piecewise_constant", {.total_steps = 100}, {"step_rules=\"1:10,0.1:20,0.005\""});
  CHECK(schedule(9) == 1.0);
  CHECK(schedule(10) == 0.1);
  CHECK(schedule(19) == 0.1);
  CHECK(schedule(20) == 0.005);
}

TEST_CASE("the options of a run are read, shares of the steps included") {
  schema::Values options;
  options.set("lr_scheduler", std::string("constant_with_warmup"));
  options.set("lr_warmup_steps", 0.1);
  const Rates rates = rates_from(options, 200);
  CHECK(rates(10, 2.0) == doctest::Approx(1.0));
  CHECK(rates(20, 2.0) == 2.0);
  CHECK(rates_from({}, 200)(0, 2.0) == 2.0);
  options.set("lr_scheduler_type", std::string("torch.optim.lr_scheduler.StepLR"));
  options.set("lr_scheduler_args", std::vector<std::string>{"step_size=10", "gamma=0.5"});
  CHECK_THROWS_WITH_AS(rates_from(options, 200), doctest::Contains("has no warm-up"), base::Error);
  options.set("lr_warmup_steps", int64_t{0});
  CHECK(rates_from(options, 200)(25, 8.0) == doctest::Approx(2.0));
}

TEST_CASE("absolute rates of the classes are the same for every base rate") {
  const ScheduleRequest request{.total_steps = 40, .learning_rate = 1.0};
  const Rates cosine = make_rates("CosineAnnealingLR", request, {"T_max=20", "eta_min=0.1"});
  for (const double base : {1.0, 0.5}) {
    CHECK(cosine(0, base) == doctest::Approx(base));
    CHECK(cosine(20, base) == doctest::Approx(0.1));
    CHECK(cosine(40, base) == doctest::Approx(base));
    CHECK(make_rates("OneCycleLR", request, {"max_lr=0.25"})(0, base) == doctest::Approx(0.01));
    CHECK(make_rates("REXScheduler", request, {"max_lr=0.5"})(0, base) == doctest::Approx(0.5));
  }
  CHECK(make_rates("REXScheduler", request, {})(40, 1.0) == 0.0);
}

TEST_CASE("the classes change the rate where they say") {
  const auto make = [](const char* name, const std::vector<std::string>& arguments) {
    return make_rates(name, {.total_steps = 100}, arguments);
  };
  const Rates milestones = make("MultiStepLR", {"milestones=10,30", "gamma=0.5"});
  CHECK(milestones(9, 1.0) == 1.0);
  CHECK(milestones(10, 1.0) == 0.5);
  CHECK(milestones(30, 1.0) == 0.25);
  CHECK(make("LinearLR", {"start_factor=0.5", "total_iters=10"})(5, 1.0) == doctest::Approx(0.75));
  CHECK(make("ConstantLR", {"factor=0.5", "total_iters=10"})(9, 1.0) == 0.5);
  CHECK(make("PolynomialLR", {"total_iters=10", "power=2"})(5, 1.0) == doctest::Approx(0.25));
  const Rates cycle = make("OneCycleLR", {"max_lr=1.0", "pct_start=0.3"});
  CHECK(cycle(29, 0.0) == doctest::Approx(1.0));
  CHECK(cycle(99, 0.0) == doctest::Approx(1.0 / 25.0 / 1e4));
  CHECK(cycle(500, 0.0) == doctest::Approx(1.0 / 25.0 / 1e4));
  const Rates restarts = make("CosineAnnealingWarmRestarts", {"T_0=10", "T_mult=2"});
  CHECK(restarts(10, 1.0) == doctest::Approx(1.0));
  CHECK(restarts(20, 1.0) == doctest::Approx(0.5));
  CHECK(restarts(30, 1.0) == doctest::Approx(1.0));
}

TEST_CASE("settings that do not fit are refused") {
  const auto make = [](const char* name, const ScheduleRequest& request, const std::vector<std::string>& arguments) {
    return make_schedule(name, request, arguments);
  };
  CHECK_THROWS_WITH_AS(make("constant", {.total_steps = 9, .warmup_steps = 1}, {}),
                       doctest::Contains("constant_with_warmup"), base::Error);
  CHECK_THROWS_WITH_AS(make("cosin", {}, {}), doctest::Contains("did you mean \"cosine\"?"), base::Error);
  CHECK_THROWS_WITH_AS(make("cosine_with_min_lr", {}, {}), doctest::Contains("lr_scheduler_min_lr_ratio"), base::Error);
  CHECK_THROWS_WITH_AS(make("cosine_with_min_lr", {.min_lr_ratio = 0.1}, {"min_lr=1e-6"}), doctest::Contains("both"),
                       base::Error);
  CHECK_THROWS_WITH_AS(make("polynomial", {.learning_rate = 1e-8}, {}), doctest::Contains("must be above"),
                       base::Error);
  CHECK_THROWS_WITH_AS(make("warmup_stable_decay", {.total_steps = 9, .warmup_steps = 5, .decay_steps = 5}, {}),
                       doctest::Contains("more than the 9 steps"), base::Error);
  for (const char* rules : {"step_rules=", "step_rules=1:10", "step_rules=1,2", "step_rules=a:10,1", "step_rules=1:x,1",
                            "step_rules=1:20,0.5:10,0.1"}) {
    CHECK_THROWS_WITH_AS(make("piecewise_constant", {}, {rules}), doctest::Contains("FACTOR:STEP"), base::Error);
  }
  CHECK_THROWS_WITH_AS(make("StepLR", {}, {}), doctest::Contains("needs step_size"), base::Error);
  CHECK_THROWS_WITH_AS(make("MultiStepLR", {}, {}), doctest::Contains("needs milestones"), base::Error);
  CHECK_THROWS_WITH_AS(make("OneCycleLR", {}, {"max_lr=1", "cycle_momentum=True"}), doctest::Contains("momentum"),
                       base::Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(class_entry("torch.optim.lr_scheduler.StepLRR")),
                       doctest::Contains("did you mean \"StepLR\"?"), base::Error);
  CHECK_THROWS_WITH_AS(make("cosine", {}, {"T_max=4"}), doctest::Contains("T_max is not known here"), base::Error);
}

}  // namespace cinnabar::lr
