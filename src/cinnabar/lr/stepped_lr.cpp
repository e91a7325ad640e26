#include <algorithm>
#include <cmath>

#include "cinnabar/lr/class_rows.h"
#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

schema::Option gamma_row(std::optional<double> fallback) {
  return amount_row({"gamma", "Factor", "What the rate is multiplied by each time."}, fallback, {0.0, 1e6});
}

Schedule make_step(const ScheduleRequest& request) {
  const int64_t size = needed_count(request.arguments, "StepLR", "step_size");
  const double gamma = request.arguments.number("gamma");
  return [size, gamma](int64_t step) { return std::pow(gamma, static_cast<double>(step / size)); };
}

Schedule make_milestones(const ScheduleRequest& request) {
  const std::vector<double> milestones = request.arguments.numbers("milestones");
  if (milestones.empty()) {
    throw base::Error(base::ErrorCode::Config,
                      "lr_scheduler_type MultiStepLR needs milestones: give them in lr_scheduler_args, for example "
                      "milestones=[500,800]");
  }
  const double gamma = request.arguments.number("gamma");
  return [milestones, gamma](int64_t step) {
    const auto passed = std::count_if(milestones.begin(), milestones.end(),
                                      [&](double milestone) { return static_cast<double>(step) >= milestone; });
    return std::pow(gamma, static_cast<double>(passed));
  };
}

Schedule make_exponential(const ScheduleRequest& request) {
  const double gamma = needed_amount(request.arguments, "ExponentialLR", "gamma");
  return [gamma](int64_t step) { return std::pow(gamma, static_cast<double>(step)); };
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(
    StepLR, {.help = "Multiplies the rate by gamma every step_size steps.",
             .options = {step_count_row({"step_size", "Step length", "Steps from one change to the next."}, {}),
                         gamma_row(0.1)},
             .make = make_step,
             .module = kTorchModule});
CINNABAR_REGISTER_SCHEDULE(MultiStepLR,
                           {.help = "Multiplies the rate by gamma at each milestone.",
                            .options = {{.name = "milestones",
                                         .type = schema::Type::FloatList,
                                         .range = schema::Range{0, 1e15},
                                         .group = "Learning rate",
                                         .level = schema::Level::Expert,
                                         .label = "Milestones",
                                         .help = "The steps at which the rate changes, for example [500,800]."},
                                        gamma_row(0.1)},
                            .make = make_milestones,
                            .module = kTorchModule});
CINNABAR_REGISTER_SCHEDULE(ExponentialLR, {.help = "Multiplies the rate by gamma at every step.",
                                           .options = {gamma_row({})},
                                           .make = make_exponential,
                                           .module = kTorchModule});

}  // namespace cinnabar::lr
