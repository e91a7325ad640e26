#include <cmath>
#include <numbers>

#include "cinnabar/lr/class_rows.h"
#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

// Down to eta_min over T_max steps and up again, over and over.
Rates make_annealing(const ScheduleRequest& request) {
  const auto half_period = static_cast<double>(needed_count(request.arguments, "CosineAnnealingLR", "T_max"));
  const double lowest = request.arguments.number("eta_min");
  return [half_period, lowest](int64_t step, double base_rate) {
    const double angle = std::numbers::pi * static_cast<double>(step) / half_period;
    return lowest + (base_rate - lowest) * (1.0 + std::cos(angle)) / 2.0;
  };
}

// Down to eta_min over T_0 steps, then anew from the top over T_mult times as many.
Rates make_restarts(const ScheduleRequest& request) {
  const int64_t first = needed_count(request.arguments, "CosineAnnealingWarmRestarts", "T_0");
  const int64_t multiplier = request.arguments.integer("T_mult");
  const double lowest = request.arguments.number("eta_min");
  return [first, multiplier, lowest](int64_t step, double base_rate) {
    int64_t length = first;
    int64_t place = step;
    if (multiplier == 1) {
      place %= length;
    } else {
      for (; place >= length; length *= multiplier) place -= length;
    }
    const double angle = std::numbers::pi * static_cast<double>(place) / static_cast<double>(length);
    return lowest + (base_rate - lowest) * (1.0 + std::cos(angle)) / 2.0;
  };
}

schema::Option lowest_row() { return amount_row({"eta_min", "Lowest rate", "The rate at the bottom."}, 0.0); }

}  // namespace

CINNABAR_REGISTER_SCHEDULE(
    CosineAnnealingLR,
    {.help = "Falls along half a cosine and rises again, over and over.",
     .options = {step_count_row({"T_max", "Half period", "Steps from the top to the bottom."}, {}), lowest_row()},
     .make_rates = make_annealing,
     .module = kTorchModule});
CINNABAR_REGISTER_SCHEDULE(
    CosineAnnealingWarmRestarts,
    {.help = "Falls along half a cosine and jumps back up, in periods that may grow.",
     .options = {step_count_row({"T_0", "First period", "Steps until the first restart."}, {}),
                 step_count_row({"T_mult", "Growth", "How many times as long each period is as the one before."}, 1),
                 lowest_row()},
     .make_rates = make_restarts,
     .module = kTorchModule});

}  // namespace cinnabar::lr
