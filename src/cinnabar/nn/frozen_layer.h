// Layers whose weights are not trained, on the CPU in fp32, each as one autograd node: nothing is computed for the
// weights, a low-rank adapter is part of the layer's own product, and its input is kept once.
#pragma once

#include <ATen/core/Tensor.h>

#include "cinnabar/nn/cpu_convolution.h"

namespace cinnabar::nn {

// y += scale * up(mask * down(x)) of a linear layer or a 1x1 convolution. fp32, contiguous.
struct LowRank {
  at::Tensor down;  // [r, in] or [r, in, 1, 1]
  at::Tensor up;    // [out, r] or [out, r, 1, 1]
  at::Tensor mask;  // shaped like the low-rank state: [..., r], or [B, r, H, W]; or undefined
  double scale = 1.0;
};

// What is added to a layer's result in the same pass.
struct LayerSum {
  at::Tensor add;       // shaped like the result, or undefined
  at::Tensor row_bias;  // [B, out], or undefined: the same for all positions of a sample; of convolutions only
  // The last thing that a segment (checkpointing.h) does: the result is left as it comes from memory when the segment
  // is recomputed.
  bool is_last = false;
};

// Whether x, and a layer with this weight and bias (which may be undefined, or stored in 16 bits), can take the
// functions below.
bool is_frozen_on_cpu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// x [..., in], weight [out, in], bias [out] or undefined -> [..., out]. `low_rank` may be null.
at::Tensor frozen_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const LowRank* low_rank,
                         const LayerSum& sum);

// x [B, in, H, W] -> [B, out, H', W'], channels last whatever the layout of x. The weight [out, in, k, k] is brought to
// channels last, in place, when it is not. `low_rank` must be null but for 1x1 convolutions of stride 1.
at::Tensor frozen_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, int64_t stride,
                              int64_t padding, const LowRank* low_rank, const LayerSum& sum);

}  // namespace cinnabar::nn
