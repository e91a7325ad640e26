// The command `cache`: latents and text states of a data set on disk, ahead of any training.
#pragma once

#include <atomic>

#include "cinnabar/base/events.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// Options are those of training. Throws Error{Cancelled} when stopped; what was made is kept.
void run_cache(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop);

}  // namespace cinnabar::train
