// Products of float16 tensors on processors that cannot multiply in that format.
#pragma once

#include <ATen/core/Tensor.h>

namespace cinnabar::tensor {

// True for float16 on a CPU without float16 arithmetic: the library's own products are then ten to twenty times slower
// than in float32 (measured with libtorch 2.13 on AVX-512 without FP16). Work on float32 copies and round the result.
bool is_half_slow(const at::Tensor& x);

// In float32; what is not defined stays so.
at::Tensor in_float(const at::Tensor& value);

}  // namespace cinnabar::tensor
