// Which libtorch this process runs with.
#pragma once

#include "cinnabar/hardware/machine.h"

namespace cinnabar::tensor {

// From the folder that the library was loaded from; it may be another build than the one of the compilation.
hardware::Libtorch loaded_libtorch();

}  // namespace cinnabar::tensor
