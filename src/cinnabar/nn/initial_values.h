// Start values of new models, as libtorch's layers have them.
#pragma once

#include <cstdint>
#include <string>

#include "cinnabar/nn/module.h"

namespace cinnabar::nn {

// Linear and convolution weights and biases uniform in +-1/sqrt(fan-in), norms 1 and 0, embeddings normal with their
// own deviation. Each value is a function of (seed, prefix and name, place in the tensor): threads and order do not
// matter.
void set_initial_values(Module& module, const std::string& prefix, uint64_t seed);

}  // namespace cinnabar::nn
