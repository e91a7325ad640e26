#include <cmath>
#include <numbers>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

CINNABAR_REGISTER_SCHEDULE(cosine, {.help = "Rises over the warm-up, then falls to 0 along half a cosine.",
                                    .make = [](const ScheduleRequest& request) -> Schedule {
                                      return [request](int64_t step) {
                                        const double angle = std::numbers::pi * progress_after_warmup(request, step);
                                        return warmup_factor(request, step).value_or(0.5 * (1.0 + std::cos(angle)));
                                      };
                                    }});

}  // namespace cinnabar::lr
