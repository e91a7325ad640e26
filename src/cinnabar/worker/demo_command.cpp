#include "cinnabar/train/demo.h"

#include "cinnabar/worker/command.h"

namespace cinnabar::worker {

CINNABAR_REGISTER_WORKER_COMMAND(demo, {.run = [](const schema::Values& values, base::EventSink& events,
                                                  const std::atomic<bool>& stop) {
                                   train::run_demo(values, events, stop);
                                   return 0;
                                 }});

}  // namespace cinnabar::worker
