#include "cinnabar/train/trainer.h"

#include "cinnabar/worker/command.h"

namespace cinnabar::worker {

CINNABAR_REGISTER_WORKER_COMMAND(train, {.run = [](const schema::Values& values, base::EventSink& events,
                                                   const std::atomic<bool>& stop) {
                                   train::run(values, events, stop);
                                   return 0;
                                 }});

}  // namespace cinnabar::worker
