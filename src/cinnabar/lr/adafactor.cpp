#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

// The optimizer Adafactor with relative_step finds its own rates; its rules (optim/adafactor.cpp) see to it that this
// schedule stands for nothing else.
CINNABAR_REGISTER_SCHEDULE(adafactor, {.help = "Of the optimizer Adafactor with relative_step: it finds its own rates.",
                                       .make = [](const ScheduleRequest& /*request*/) -> Schedule {
                                         return [](int64_t /*step*/) { return 1.0; };
                                       }});

}  // namespace cinnabar::lr
