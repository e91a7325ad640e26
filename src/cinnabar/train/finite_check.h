// Values that are no numbers any more: which tensor holds them, and that none of them reaches a file.
#pragma once

#include <filesystem>
#include <string>

#include "cinnabar/optim/flat_parameters.h"

namespace cinnabar::train {

// Name of the first trained tensor with a value, or a gradient, that is not finite; "" when all are. Waits for the
// device.
std::string first_bad_value(const optim::FlatParameters& parameters);
std::string first_bad_gradient(const optim::FlatParameters& parameters);

// Throws Error{Data} that names the tensor and `file`, which then stays as it was. `is_narrowed`: the tensors are what
// is left after rounding finite values to the type of the file.
void check_finite(const optim::NamedTensors& tensors, const std::filesystem::path& file, bool is_narrowed = false);

}  // namespace cinnabar::train
