#include <algorithm>
#include <cmath>
#include <numbers>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

// x the step, W warm-up, D decay, N total: rises from the lowest share to 1 up to W, stays until N - D, falls along a
// cosine.
Schedule make_warmup_stable_decay(const ScheduleRequest& request) {
  const int64_t stable_end = request.total_steps - request.decay_steps;
  if (stable_end < request.warmup_steps) {
    throw base::Error(base::ErrorCode::Config,
                      "lr_scheduler = \"warmup_stable_decay\": lr_warmup_steps (" +
                          std::to_string(request.warmup_steps) + ") and lr_decay_steps (" +
                          std::to_string(request.decay_steps) + ") together are more than the " +
                          std::to_string(request.total_steps) + " steps of the run; make one smaller");
  }
  const double lowest = request.min_lr_ratio.value_or(0.0);
  return [request, stable_end, lowest](int64_t step) {
    if (const auto rising = warmup_factor(request, step)) return *rising * (1.0 - lowest) + lowest;
    if (step < stable_end) return 1.0;
    if (step >= request.total_steps) return lowest;
    const double progress =
        static_cast<double>(step - stable_end) / static_cast<double>(std::max<int64_t>(1, request.decay_steps));
    // lr_scheduler_num_cycles counts half cosines.
    const double falling = 0.5 * (1.0 + std::cos(std::numbers::pi * static_cast<double>(request.cycles) * progress));
    return std::max(0.0, falling) * (1.0 - lowest) + lowest;
  };
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(warmup_stable_decay,
                           {.help = "Rises over lr_warmup_steps, stays, and falls over the last lr_decay_steps.",
                            .make = make_warmup_stable_decay});

}  // namespace cinnabar::lr
