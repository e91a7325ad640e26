// Files without a manifest, cut off or with a flipped bit: refused, or read as other data, and nothing else.
#pragma once

#include <cstdint>

#include "faults/soak/tally.h"

namespace cinnabar::soak {

// Networks (safetensors, ckpt), caches of ours and of others, pictures, records of the log: every 1/64 of each, then
// flipped bits until there are `rounds`.
void read_damaged_files(int64_t rounds, uint64_t seed, Tally& tally);

}  // namespace cinnabar::soak
