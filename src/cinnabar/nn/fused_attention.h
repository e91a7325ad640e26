// Attention on the CPU in fp32 without copies of heads, as one autograd node.
#pragma once

#include <ATen/core/Tensor.h>

namespace cinnabar::nn {

// Whether fused_attention() can take these: fp32 on a CPU with kernels.
bool is_attention_fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

// softmax(q k' / sqrt(D / heads)) v of q [B, Q, D], k and v [B, K, D] -> [B, Q, D]. Kept for backward: inputs, result
// and one number for each query and head.
at::Tensor fused_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads);

}  // namespace cinnabar::nn
