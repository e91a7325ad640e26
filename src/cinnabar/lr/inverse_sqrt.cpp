#include <cmath>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

constexpr int64_t kTimescaleWithoutWarmup = 10000;  // as in the reference (transformers 4.54)

Schedule make_inverse_sqrt(const ScheduleRequest& request) {
  const int64_t fallback = request.warmup_steps > 0 ? request.warmup_steps : kTimescaleWithoutWarmup;
  const double timescale = static_cast<double>(request.timescale.value_or(fallback));
  const double shift = timescale - static_cast<double>(request.warmup_steps);
  return [request, timescale, shift](int64_t step) {
    if (const auto rising = warmup_factor(request, step)) return *rising;
    return 1.0 / std::sqrt((static_cast<double>(step) + shift) / timescale);
  };
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(
    inverse_sqrt, {.help = "Rises over the warm-up, then falls with one over the root of the step; has no end.",
                   .make = make_inverse_sqrt});

}  // namespace cinnabar::lr
