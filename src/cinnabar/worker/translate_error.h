// The border where libtorch's errors become ours.
#pragma once

#include <exception>

#include "cinnabar/base/error.h"

namespace cinnabar::worker {

// Call inside a catch clause: the exception in flight as a base::Error. Out of memory and device faults are told apart
// from other errors, and say what to do.
base::Error translate_current_exception();

}  // namespace cinnabar::worker
