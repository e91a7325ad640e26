// A part of a batch, for computing in parts what does not fit the memory at once.
#pragma once

#include "cinnabar/data/loader.h"

namespace cinnabar::train {

// The items first to first + count - 1, with everything that belongs to them. Their random streams are theirs whatever
// the part is (they are keyed by item), so a batch in parts trains on the same noise, timesteps and dropouts.
data::LoadedBatch part_of(const data::LoadedBatch& batch, size_t first, size_t count);

}  // namespace cinnabar::train
