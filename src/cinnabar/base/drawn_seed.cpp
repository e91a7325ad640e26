#include "cinnabar/base/drawn_seed.h"

#include <random>

namespace cinnabar::base {

int64_t drawn_seed() { return static_cast<int64_t>(std::random_device()() & 0xFFFFFFFFU); }

}  // namespace cinnabar::base
