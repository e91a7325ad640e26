#include "cinnabar/lr/class_rows.h"
#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

// Chen et al. 2022, "REX: revisiting budgeted training with an improved schedule". The rates are absolute: base rates
// are not used.
Rates make_rex(const ScheduleRequest& request) {
  const int64_t length = request.arguments.maybe_integer("total_steps").value_or(request.total_steps);
  const double highest = request.arguments.number("max_lr");
  const double lowest = request.arguments.number("min_lr");
  return [length, highest, lowest](int64_t step, double /*base_rate*/) {
    if (step >= length) return lowest;
    const double done = static_cast<double>(step) / static_cast<double>(length);
    return lowest + (highest - lowest) * ((1.0 - done) / (1.0 - done / 2.0));
  };
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(
    REXScheduler,
    {.help = "Stays high for long and falls fast at the end; learning_rate is not used.",
     .options = {step_count_row({"total_steps", "Length", "Steps until the lowest rate; the default is the run."}, {}),
                 amount_row({"max_lr", "Highest rate", "The first rate."}, 1.0),
                 amount_row({"min_lr", "Lowest rate", "The last rate."}, 0.0)},
     .make_rates = make_rex,
     .module = "pytorch_optimizer"});

}  // namespace cinnabar::lr
