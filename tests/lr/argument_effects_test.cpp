// Every key of lr_scheduler_args changes the learning rates.
#include <doctest/doctest.h>

#include <map>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

using Arguments = std::vector<std::string>;

// What a schedule is run with, unless the key itself is looked at.
const std::map<std::string, Arguments>& base_arguments() {
  static const std::map<std::string, Arguments> all{
      {"piecewise_constant", {"step_rules='1:10,0.5'"}},
      {"cosine_with_min_lr", {"min_lr=1e-5"}},
      {"CosineAnnealingLR", {"T_max=20", "eta_min=0"}},
      {"CosineAnnealingWarmRestarts", {"T_0=10", "T_mult=1"}},
      {"StepLR", {"step_size=10", "gamma=0.1"}},
      {"MultiStepLR", {"milestones=[10,20]", "gamma=0.1"}},
      {"ExponentialLR", {"gamma=0.9"}},
      {"LinearLR", {"start_factor=1", "end_factor=0.5", "total_iters=5"}},
      {"ConstantLR", {"factor=0.2", "total_iters=5"}},
      {"PolynomialLR", {"total_iters=5", "power=1"}},
      {"OneCycleLR", {"max_lr=1e-4", "total_steps=40"}},
      {"REXScheduler", {"max_lr=1e-4", "total_steps=40"}},
  };
  return all;
}

// By key; one that is missing here fails the test. An argument of that key in the base is replaced.
const std::map<std::string, Arguments>& changed_arguments() {
  static const std::map<std::string, Arguments> all{
      {"step_rules", {"step_rules='1:5,0.5'"}},
      {"min_lr", {"min_lr=5e-5"}},
      {"lr_end", {"lr_end=5e-5"}},
      {"factor", {"factor=0.5"}},
      {"total_iters", {"total_iters=9"}},
      {"T_max", {"T_max=13"}},
      {"eta_min", {"eta_min=5e-5"}},
      {"T_0", {"T_0=7"}},
      {"T_mult", {"T_mult=2"}},
      {"gamma", {"gamma=0.5"}},
      {"start_factor", {"start_factor=0.3"}},
      {"end_factor", {"end_factor=0.3"}},
      {"milestones", {"milestones=[4]"}},
      {"max_lr", {"max_lr=3e-4"}},
      {"total_steps", {"total_steps=50"}},
      {"epochs", {"epochs=5", "steps_per_epoch=10"}},
      {"steps_per_epoch", {"epochs=10", "steps_per_epoch=5"}},
      {"pct_start", {"pct_start=0.5"}},
      {"anneal_strategy", {"anneal_strategy=linear"}},
      {"div_factor", {"div_factor=5"}},
      {"final_div_factor", {"final_div_factor=5"}},
      {"three_phase", {"three_phase=True"}},
      {"power", {"power=3"}},
      {"step_size", {"step_size=3"}},
  };
  return all;
}

std::string key_of(const std::string& argument) { return argument.substr(0, argument.find('=')); }

Arguments replaced(Arguments base, const Arguments& changed) {
  for (const std::string& argument : changed) {
    std::erase_if(base, [&](const std::string& other) { return key_of(other) == key_of(argument); });
    // epochs and steps_per_epoch stand for total_steps.
    if (key_of(argument) == "epochs") std::erase_if(base, [](const auto& o) { return key_of(o) == "total_steps"; });
    base.push_back(argument);
  }
  return base;
}

std::vector<double> rates(const std::string& name, const Arguments& arguments) {
  const Rates schedule = make_rates(name, {.total_steps = 40, .learning_rate = 1e-4}, arguments);
  std::vector<double> result;
  for (int64_t step = 0; step < 40; ++step) result.push_back(schedule(step, 1e-4));
  return result;
}

}  // namespace

TEST_CASE("every schedule argument changes the rates") {
  for (const std::string& name : entries().names()) {
    const auto base = base_arguments().find(name);
    const Arguments before = base == base_arguments().end() ? Arguments{} : base->second;
    for (const schema::Option& option : entries().at(name).options) {
      CAPTURE(name);
      CAPTURE(option.name);
      if (option.name == "cycle_momentum") {
        CHECK_THROWS_AS(rates(name, replaced(before, {"cycle_momentum=True"})), base::Error);
        continue;
      }
      const auto changed = changed_arguments().find(option.name);
      REQUIRE_MESSAGE(changed != changed_arguments().end(), option.name, " has no row in argument_effects_test.cpp");
      CHECK(rates(name, before) != rates(name, replaced(before, changed->second)));
    }
  }
}

}  // namespace cinnabar::lr
