// The sources of this very machine.
#pragma once

#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

// sysfs, device nodes, environment and user. With `with_tools` the vendors' tools are run, too, all at the same time
// and for at most ten seconds; where a tool is missing its C library is asked in its place.
Sources system_sources(const Libtorch& libtorch, bool with_tools);

}  // namespace cinnabar::hardware
