#include "cinnabar/train/trainer.h"

#include "cinnabar/train/training_run.h"

namespace cinnabar::train {

void run(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop) {
  TrainingRun(values, events, stop).run();
}

}  // namespace cinnabar::train
