#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

CINNABAR_REGISTER_SCHEDULE(constant_with_warmup, {.help = "Rises evenly over the warm-up, then stays.",
                                                  .make = [](const ScheduleRequest& request) -> Schedule {
                                                    return [request](int64_t step) {
                                                      return warmup_factor(request, step).value_or(1.0);
                                                    };
                                                  }});

}  // namespace cinnabar::lr
