// Whether an exception means that memory ran out, of the device or of the machine.
#pragma once

#include <exception>

namespace cinnabar::tensor {

bool is_out_of_memory(const std::exception& error);

}  // namespace cinnabar::tensor
