// Sinusoidal embedding of numbers (Vaswani et al. 2017, in the order of the diffusion models: cosines first).
#pragma once

#include <ATen/core/Tensor.h>

namespace cinnabar::nn {

// t [N] of any number type -> fp32 [N, width]: cos then sin of t * exp(-ln(10000) i / half), i = 0 .. half - 1,
// half = width / 2. `width` is even.
at::Tensor timestep_embedding(const at::Tensor& t, int64_t width);

}  // namespace cinnabar::nn
