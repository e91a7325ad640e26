#include "cinnabar/nn/attention.h"

#include <ATen/ops/scaled_dot_product_attention.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/attention_choice.h"
#include "cinnabar/nn/chunked_attention.h"
#include "cinnabar/nn/fused_attention.h"
#include "cinnabar/tensor/half_compute.h"

namespace cinnabar::nn {

namespace {

at::Tensor split_heads(const at::Tensor& x, int64_t heads) {  // [B, T, D] -> [B, N, T, D/N]
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

}  // namespace

at::Tensor to_rows(const at::Tensor& x) { return x.flatten(2).transpose(1, 2).contiguous(); }

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads, bool is_causal) {
  const bool is_in_pieces = q.size(2) / heads > largest_fused_head();
  if (!is_causal && !is_in_pieces && is_attention_fused(q, k, v)) return fused_attention(q, k, v, heads);
  if (tensor::is_half_slow(q)) {
    return attention(tensor::in_float(q), tensor::in_float(k), tensor::in_float(v), heads, is_causal)
        .to(q.scalar_type());
  }
  const at::Tensor mixed =  // [B, N, Q, D/N]
      is_in_pieces
          ? chunked_attention(split_heads(q, heads), split_heads(k, heads), split_heads(v, heads),
                              {.is_causal = is_causal})
          : at::scaled_dot_product_attention(split_heads(q, heads), split_heads(k, heads), split_heads(v, heads),
                                             /*attn_mask=*/{}, /*dropout_p=*/0.0, is_causal);
  return mixed.transpose(1, 2).reshape({q.size(0), q.size(1), q.size(2)});
}

CrossAttention::CrossAttention(int64_t width, int64_t context_width, int64_t heads)
    : heads_(heads),
      to_q_(width, width, false),
      to_k_(context_width, width, false),
      to_v_(context_width, width, false),
      to_out_(width, width) {
  if (heads <= 0 || width % heads != 0) {
    throw base::Error(base::ErrorCode::Format,
                      "attention of width " + std::to_string(width) + " with " + std::to_string(heads) +
                          " heads: the width must be a multiple of the heads. State num_heads in "
                          "a NAME.json beside the checkpoint");
  }
  add("to_q", to_q_);
  add("to_k", to_k_);
  add("to_v", to_v_);
  add("to_out.0", to_out_);
}

at::Tensor CrossAttention::forward(const at::Tensor& x, const at::Tensor& context, const at::Tensor& add) const {
  return to_out_.forward(attention(to_q_.forward(x), to_k_.forward(context), to_v_.forward(context), heads_),
                         {.add = add});
}

}  // namespace cinnabar::nn
