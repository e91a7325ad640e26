#include "cinnabar/train/cache_run.h"

#include "cinnabar/worker/command.h"

namespace cinnabar::worker {

CINNABAR_REGISTER_WORKER_COMMAND(cache, {.run = [](const schema::Values& values, base::EventSink& events,
                                                   const std::atomic<bool>& stop) {
                                   train::run_cache(values, events, stop);
                                   return 0;
                                 }});

}  // namespace cinnabar::worker
