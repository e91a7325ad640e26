// The demonstration: teaches the embedded model a character that it has never seen, and measures whether it learned it.
#pragma once

#include <atomic>

#include "cinnabar/base/events.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// Options: output_dir, seed, quick. Writes zibo.safetensors and before_after.png. The result names the mean distance of
// the pictures to the drawing asked for, before and after. Throws Error{Internal} when the character was not learned.
void run_demo(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop);

}  // namespace cinnabar::train
