// The command `sample`: pictures from prompts with a model and LoRA files.
#pragma once

#include <atomic>

#include "cinnabar/base/events.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::sample {

// Every picture is complete on disk when its event is sent. Returns early, without an error, when `stop` becomes true.
// Throws base::Error and c10::Error.
void run(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop);

}  // namespace cinnabar::sample
