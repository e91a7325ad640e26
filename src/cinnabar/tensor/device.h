// Devices by the words of the option `device`.
#pragma once

#include <string>

#include <c10/core/Device.h>

namespace cinnabar::tensor {

// "auto" takes the first GPU, else the CPU; "cpu", "gpu" and "gpu:N" say which one. Throws Error{Config} for another
// word, Error{Device} when there is no such GPU.
at::Device device_from(const std::string& word);

}  // namespace cinnabar::tensor
