// The seed of a run for which nobody named one.
#pragma once

#include <cstdint>

namespace cinnabar::base {

// From the system's entropy, below 2^32, as the programs that read our metadata expect. Record it: the run follows from
// it.
int64_t drawn_seed();

}  // namespace cinnabar::base
