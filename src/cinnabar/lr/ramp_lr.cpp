#include <algorithm>
#include <cmath>

#include "cinnabar/lr/class_rows.h"
#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

schema::Option length_row() {
  return step_count_row({"total_iters", "Length", "Steps until the end of the ramp; the default is very short."}, 5);
}

// Share of the ramp that is done.
double share(const ScheduleRequest& request, int64_t step) {
  const auto length = static_cast<double>(request.arguments.integer("total_iters"));
  return std::min(1.0, static_cast<double>(step) / length);
}

Schedule make_constant_lr(const ScheduleRequest& request) {
  return [request](int64_t step) {
    return step < request.arguments.integer("total_iters") ? request.arguments.number("factor") : 1.0;
  };
}

Schedule make_linear_lr(const ScheduleRequest& request) {
  const double start = request.arguments.number("start_factor");
  const double end = request.arguments.number("end_factor");
  return [request, start, end](int64_t step) { return start + (end - start) * share(request, step); };
}

Schedule make_polynomial_lr(const ScheduleRequest& request) {
  const double power = request.arguments.number("power");
  return [request, power](int64_t step) { return std::pow(1.0 - share(request, step), power); };
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(ConstantLR,
                           {.help = "A share of the rate over the first steps, then all of it.",
                            .options = {amount_row({"factor", "Share", "Share of the rate over the first steps."},
                                                   1.0 / 3.0, {0.0, 1.0}),
                                        length_row()},
                            .make = make_constant_lr,
                            .module = kTorchModule});
CINNABAR_REGISTER_SCHEDULE(
    LinearLR, {.help = "Goes evenly from one share of the rate to another over the first steps.",
               .options = {amount_row({"start_factor", "First share", "Share of the rate at the start."}, 1.0 / 3.0,
                                      {1e-30, 1.0}),
                           amount_row({"end_factor", "Last share", "Share of the rate at the end."}, 1.0, {0.0, 1.0}),
                           length_row()},
               .make = make_linear_lr,
               .module = kTorchModule});
CINNABAR_REGISTER_SCHEDULE(PolynomialLR,
                           {.help = "Falls to 0 with a power over the first steps.",
                            .options = {length_row(), amount_row({"power", "Power", "The exponent of the fall."}, 1.0)},
                            .make = make_polynomial_lr,
                            .module = kTorchModule});

}  // namespace cinnabar::lr
