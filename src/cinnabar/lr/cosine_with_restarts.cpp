#include <cmath>
#include <numbers>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

CINNABAR_REGISTER_SCHEDULE(cosine_with_restarts,
                           {.help = "Falls along a cosine and jumps back up, lr_scheduler_num_cycles times.",
                            .make = [](const ScheduleRequest& request) -> Schedule {
                              return [request](int64_t step) {
                                const double progress = progress_after_warmup(request, step);
                                const double place = std::fmod(static_cast<double>(request.cycles) * progress, 1.0);
                                const double falling =
                                    progress >= 1.0 ? 0.0 : 0.5 * (1.0 + std::cos(std::numbers::pi * place));
                                return warmup_factor(request, step).value_or(falling);
                              };
                            }});

}  // namespace cinnabar::lr
