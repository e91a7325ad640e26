#include "cinnabar/sample/sample.h"

#include "cinnabar/worker/command.h"

namespace cinnabar::worker {

CINNABAR_REGISTER_WORKER_COMMAND(sample, {.run = [](const schema::Values& values, base::EventSink& events,
                                                    const std::atomic<bool>& stop) {
                                   sample::run(values, events, stop);
                                   return 0;
                                 }});

}  // namespace cinnabar::worker
