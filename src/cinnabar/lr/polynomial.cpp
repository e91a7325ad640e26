#include <cmath>

#include "cinnabar/lr/schedule.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::lr {

namespace {

// From the learning rate to `lr_end`, both absolute. Groups with another base rate get the same factors, as in the
// reference.
Schedule make_polynomial(const ScheduleRequest& request) {
  const double end = request.arguments.number("lr_end") / request.learning_rate;
  if (!(end < 1.0)) {
    throw base::Error(base::ErrorCode::Config, "lr_scheduler = \"polynomial\": learning_rate " +
                                                   schema::number_text(request.learning_rate) +
                                                   " must be above the end rate lr_end " +
                                                   schema::number_text(request.arguments.number("lr_end")));
  }
  return [request, end](int64_t step) {
    if (const auto rising = warmup_factor(request, step)) return *rising;
    if (step > request.total_steps) return end;
    const double left = 1.0 - progress_after_warmup(request, step);
    return (1.0 - end) * std::pow(left, request.power) + end;
  };
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(polynomial, {.help = "Rises over the warm-up, then falls with the power lr_scheduler_power.",
                                        .options = {{.name = "lr_end",
                                                     .type = schema::Type::Float,
                                                     .fallback = 1e-7,
                                                     .range = schema::Range{0.0, 1.0},
                                                     .group = "Learning rate",
                                                     .level = schema::Level::Expert,
                                                     .label = "End rate",
                                                     .help = "Learning rate at the end of the run."}},
                                        .make = make_polynomial});

}  // namespace cinnabar::lr
