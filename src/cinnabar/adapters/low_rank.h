// The low-rank update of a layer's output as one autograd node each for linear and convolution layers.
#pragma once

#include <ATen/core/Tensor.h>

namespace cinnabar::adapters {

// y + scale * up(mask * down(x)). `down` and `up` may be stored in another dtype than x: they are cast at use, and
// their gradients come back in their own dtype. `mask` multiplies the low-rank state, or is undefined.
struct LowRankUpdate {
  at::Tensor down;  // linear [r, in]; convolution [r, in, k, k]
  at::Tensor up;    // linear [out, r]; convolution [out, r, 1, 1]
  at::Tensor mask;  // broadcastable to the low-rank state: linear [..., r]; convolution [B, r, H', W']
  double scale = 1.0;
};

// x [..., in], y [..., out]. Kept for backward: x itself, no copy, and the low-rank state. The result takes over the
// storage of y, which must not be used afterwards; a backward that saved y would report the change.
at::Tensor add_low_rank_linear(const at::Tensor& x, const at::Tensor& y, const LowRankUpdate& update);

// x [B, in, H, W], y [B, out, H', W']; stride and padding are those of the layer (square).
at::Tensor add_low_rank_conv(const at::Tensor& x, const at::Tensor& y, const LowRankUpdate& update, int64_t stride,
                             int64_t padding);

}  // namespace cinnabar::adapters
