// A whole training run: model, data, caches, loop, files.
#pragma once

#include <atomic>

#include "cinnabar/base/events.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// Trains a network as the options say and writes its files. When `stop` becomes true, the running step is finished, the
// network is saved, and Error{Cancelled} is thrown, which names the file. Other errors: what the parts throw.
void run(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop);

}  // namespace cinnabar::train
