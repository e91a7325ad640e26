#include "cinnabar/train/run_data.h"
#include "cinnabar/worker/command.h"

namespace cinnabar::worker {

// The part of `cinnabar scan --strict` that decodes every picture. Findings end it as they end a strict run: by
// Error{Data}, after the report is written.
CINNABAR_REGISTER_WORKER_COMMAND(scan, {.run = [](const schema::Values& values, base::EventSink& events,
                                                  const std::atomic<bool>&) {
                                   (void)train::scan_run_data(values, events);
                                   return 0;
                                 }});

}  // namespace cinnabar::worker
