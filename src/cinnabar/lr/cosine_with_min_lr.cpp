#include <algorithm>
#include <cmath>
#include <numbers>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

double lowest_share(const ScheduleRequest& request) {
  const auto absolute = request.arguments.maybe_number("min_lr");
  if (request.min_lr_ratio && absolute) {
    throw base::Error(
        base::ErrorCode::Config,
        "lr_scheduler = \"cosine_with_min_lr\": lr_scheduler_min_lr_ratio and min_lr are both given; leave one out");
  }
  if (request.min_lr_ratio) return *request.min_lr_ratio;
  if (absolute) return *absolute / request.learning_rate;
  throw base::Error(
      base::ErrorCode::Config,
      "lr_scheduler = \"cosine_with_min_lr\" needs the lowest rate: give lr_scheduler_min_lr_ratio (for example "
      "0.1), or min_lr in lr_scheduler_args");
}

Schedule make_cosine_with_min_lr(const ScheduleRequest& request) {
  const double lowest = lowest_share(request);
  return [request, lowest](int64_t step) {
    if (const auto rising = warmup_factor(request, step)) return *rising;
    // lr_scheduler_num_cycles counts half cosines.
    const double angle = std::numbers::pi * static_cast<double>(request.cycles) * progress_after_warmup(request, step);
    return std::max(0.0, 0.5 * (1.0 + std::cos(angle)) * (1.0 - lowest) + lowest);
  };
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(cosine_with_min_lr,
                           {.help = "As cosine, but falls to lr_scheduler_min_lr_ratio of the rate instead of 0.",
                            .options = {{.name = "min_lr",
                                         .type = schema::Type::Float,
                                         .range = schema::Range{0.0, 1000.0},
                                         .group = "Learning rate",
                                         .level = schema::Level::Expert,
                                         .label = "Lowest rate",
                                         .help = "Lowest learning rate, instead of lr_scheduler_min_lr_ratio."}},
                            .make = make_cosine_with_min_lr});

}  // namespace cinnabar::lr
