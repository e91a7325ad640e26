// Multi-head attention.
#pragma once

#include <ATen/core/Tensor.h>

#include "cinnabar/nn/layer.h"

namespace cinnabar::nn {

// B batch, Q queries, K keys, N heads, D width of all heads together. Exact softmax(q k' / sqrt(D/N)) v.
at::Tensor attention(const at::Tensor& q,  // [B, Q, D]
                     const at::Tensor& k,  // [B, K, D]
                     const at::Tensor& v,  // [B, K, D]
                     int64_t heads,
                     bool is_causal = false);  // -> [B, Q, D]

// A map as rows, one for each position: [B, C, H, W] -> [B, H*W, C].
at::Tensor to_rows(const at::Tensor& x);

// The U-Net's attention: to_q, to_k, to_v without bias, to_out.0 with one.
class CrossAttention : public Module {
 public:
  CrossAttention(int64_t width, int64_t context_width, int64_t heads);
  // x [B, Q, D], context [B, K, C] -> [B, Q, D]. For self-attention pass x twice.
  // `add` [B, Q, D], or undefined, is added to the result.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& context, const at::Tensor& add = {}) const;

 private:
  int64_t heads_;
  Linear to_q_;
  Linear to_k_;
  Linear to_v_;
  Linear to_out_;
};

}  // namespace cinnabar::nn
