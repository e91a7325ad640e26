#include <doctest/doctest.h>

#include <filesystem>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

// What a schedule cannot do without.
std::vector<std::string> needed_arguments(const std::string& name) {
  if (name == "piecewise_constant") return {"step_rules='1:10,0.5'"};
  if (name == "cosine_with_min_lr") return {"min_lr=1e-5"};
  if (name == "CosineAnnealingLR") return {"T_max=20"};
  if (name == "CosineAnnealingWarmRestarts") return {"T_0=10"};
  if (name == "StepLR") return {"step_size=10"};
  if (name == "MultiStepLR") return {"milestones=[10,20]"};
  if (name == "ExponentialLR") return {"gamma=0.9"};
  if (name == "LinearLR") return {"start_factor=1", "end_factor=0.5"};
  if (name == "ConstantLR") return {"factor=1"};
  if (name == "OneCycleLR") return {"max_lr=1e-4", "div_factor=1", "total_steps=40"};
  if (name == "REXScheduler") return {"max_lr=1e-4", "total_steps=40"};
  return {};
}

}  // namespace

TEST_CASE("every schedule is described, has a page and gives factors from 0 to 1") {
  CHECK(entries().names().size() >= 10);
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    CHECK_FALSE(entries().at(name).help.empty());
    CHECK(std::filesystem::exists(std::filesystem::path(CINNABAR_TESTS_DIR) / "../docs/lr" / (name + ".md")));
    const Schedule schedule = make_schedule(name, {.total_steps = 40, .decay_steps = 10}, needed_arguments(name));
    CHECK(schedule(0) == doctest::Approx(1.0));
    for (int64_t step = 0; step <= 60; ++step) {
      CHECK(schedule(step) >= 0.0);
      CHECK(schedule(step) <= 1.0 + 1e-12);
    }
  }
}

TEST_CASE("every schedule but the constant ones rises from 0 over the warm-up") {
  for (const std::string& name : entries().names()) {
    if (name == "constant" || name == "piecewise_constant" || name == "adafactor") continue;
    if (!entries().at(name).module.empty()) {  // the classes have none
      CHECK_THROWS_WITH_AS(make_schedule(name, {.total_steps = 40, .warmup_steps = 8}, needed_arguments(name)),
                           doctest::Contains("has no warm-up"), base::Error);
      continue;
    }
    CAPTURE(name);
    const Schedule schedule = make_schedule(name, {.total_steps = 40, .warmup_steps = 8}, needed_arguments(name));
    CHECK(schedule(0) == 0.0);
    CHECK(schedule(4) == doctest::Approx(0.5));
    CHECK(schedule(8) == doctest::Approx(1.0));
  }
}

}  // namespace cinnabar::lr
