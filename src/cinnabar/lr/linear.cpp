#include <algorithm>

#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

CINNABAR_REGISTER_SCHEDULE(linear, {.help = "Rises over the warm-up, then falls evenly to 0.",
                                    .make = [](const ScheduleRequest& request) -> Schedule {
                                      return [request](int64_t step) {
                                        const double falling =
                                            std::max(0.0, 1.0 - progress_after_warmup(request, step));
                                        return warmup_factor(request, step).value_or(falling);
                                      };
                                    }});

}  // namespace cinnabar::lr
