// Attention in pieces: exact, with memory that grows with the tokens and not with their square, forward and backward,
// on every device that libtorch has. For GPUs without a fused kernel, where plain attention would keep a matrix of
// tokens by tokens for every head.
//
// Forward goes over pieces of queries and keys with a running maximum and sum (Milakov and Gimelshein 2018, "Online
// normalizer calculation for softmax"); backward computes each piece again from the kept logarithm of the sums (Rabe
// and Staats 2021, "Self-attention does not need O(n^2) memory"; Dao et al. 2022, "FlashAttention"). Half types are
// computed in fp32, as libtorch's plain attention does. Nothing is read back from the device.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace cinnabar::nn {

// Queries and keys that are looked at together.
struct AttentionPiece {
  int64_t queries = 0;
  int64_t keys = 0;
};

// Scores of one piece: backward holds two such blocks, forward one.
inline constexpr int64_t kAttentionPieceBytes = int64_t{64} << 20;

// The piece whose fp32 scores of all `rows` (batch times heads) stay within `bytes`, or the smallest one (64 by 64, or
// all there are). Whole rows of keys where at least 64 queries fit with them.
AttentionPiece attention_piece(int64_t rows, int64_t queries, int64_t keys, int64_t bytes);

struct ChunkedAttentionOptions {
  bool is_causal = false;  // query i sees keys 0 to i
  at::Tensor mask{};       // undefined, or [B or 1, N or 1, Q or 1, K or 1]: true is seen, numbers are added to the
                           // scores; no gradient. A query that sees nothing gives 0.
  std::optional<double> scale{};  // of the scores; 1 / sqrt(D) when not given
  int64_t piece_bytes = kAttentionPieceBytes;
};

// B batch, N heads, Q queries, K keys, D width of a head, E width of a value. softmax(scale q k' + mask) v, in the type
// of q. Gradients of q, k and v, once.
at::Tensor chunked_attention(const at::Tensor& q,                           // [B, N, Q, D]
                             const at::Tensor& k,                           // [B, N, K, D]
                             const at::Tensor& v,                           // [B, N, K, E]
                             const ChunkedAttentionOptions& options = {});  // -> [B, N, Q, E]

}  // namespace cinnabar::nn
