#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

CINNABAR_REGISTER_SCHEDULE(constant, {.help = "The same rate from the first step to the last.",
                                      .make = [](const ScheduleRequest& request) -> Schedule {
                                        if (request.warmup_steps != 0) {
                                          throw base::Error(
                                              base::ErrorCode::Config,
                                              "lr_scheduler = \"constant\" has no warm-up, but lr_warmup_steps is " +
                                                  std::to_string(request.warmup_steps) +
                                                  ": use constant_with_warmup, or leave lr_warmup_steps out");
                                        }
                                        return [](int64_t /*step*/) { return 1.0; };
                                      }});

}  // namespace cinnabar::lr
