// Detection: from sources to one Machine.
#pragma once

#include "cinnabar/hardware/machine.h"
#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

// Never throws for what it finds: what cannot be read is unknown, and what is wrong becomes a warning.
Machine detect(const Sources& sources);

}  // namespace cinnabar::hardware
