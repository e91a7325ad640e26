#include "cinnabar/nn/chunked_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/custom_function.h>

namespace cinnabar::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Kernels for products want shapes of this and its multiples.
constexpr int64_t kLeastPiece = 64;
// Below every score that counts: the maximum of a row that sees nothing yet. exp(-infinity - this) is 0, not NaN.
constexpr double kLowest = -1e30;
// Below every sum of a row that sees something, which is at least about 1.
constexpr double kNothing = 1e-30;

// R = B * N rows of work, each with its own queries and keys.
struct Work {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  bool is_causal = false;
  double scale = 1.0;
  AttentionPiece piece{};
  at::Tensor mask{};  // undefined or expanded to [B, N, Q, K]

  int64_t rows() const { return batch * heads; }
  int64_t queries_at(int64_t first) const { return std::min(piece.queries, queries - first); }
  int64_t keys_at(int64_t first) const { return std::min(piece.keys, keys - first); }
  // Whether a query of the piece sees a key from `first_key` on.
  bool sees(int64_t first_query, int64_t first_key) const {
    return !is_causal || first_key < first_query + queries_at(first_query);
  }
};

// What backward needs besides the tensors that it saves. A holder that libtorch's context can store.
struct WorkHolder : torch::CustomClassHolder {
  explicit WorkHolder(Work held) : work(std::move(held)) {}
  Work work;
};

constexpr const char* kWork = "work";

at::ScalarType compute_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;  // half types: fp32
}

// [B, N, T, D] -> [R, T, D], one block of memory, so that pieces of it are no copies.
at::Tensor as_rows(const at::Tensor& x) {
  return x.reshape({x.size(0) * x.size(1), x.size(2), x.size(3)}).contiguous();
}

// Queries of a piece, times the scale: [R, q, D].
at::Tensor query_piece(const Work& work, const at::Tensor& q, int64_t first, at::ScalarType type) {
  return q.narrow(1, first, work.queries_at(first)).to(type).mul(work.scale);
}

// Scores of a piece [R, q, k], -infinity where nothing is seen. The result is not shared.
at::Tensor scores_of(const Work& work, const at::Tensor& queries, const at::Tensor& k, int64_t first_query,
                     int64_t first_key) {
  const int64_t query_count = work.queries_at(first_query);
  const int64_t key_count = work.keys_at(first_key);
  at::Tensor scores = at::bmm(queries, k.narrow(1, first_key, key_count).transpose(1, 2));
  constexpr double kUnseen = -std::numeric_limits<double>::infinity();
  if (work.mask.defined()) {
    const at::Tensor mask = work.mask.narrow(2, first_query, query_count).narrow(3, first_key, key_count);
    at::Tensor by_head = scores.view({work.batch, work.heads, query_count, key_count});
    if (mask.scalar_type() == at::kBool) {
      by_head.masked_fill_(mask.logical_not(), kUnseen);
    } else {
      by_head.add_(mask);
    }
  }
  if (work.is_causal && first_key + key_count - 1 > first_query) {
    const at::Tensor later =
        at::ones({query_count, key_count}, scores.options().dtype(at::kBool)).triu_(first_query - first_key + 1);
    scores.masked_fill_(later, kUnseen);
  }
  return scores;
}

struct Forward {
  at::Tensor output;    // [B, N, Q, E], of q's type
  at::Tensor log_sums;  // [R, Q, 1]: of exp(score) over the keys
};

Forward forward_in_pieces(const Work& work, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const at::ScalarType type = compute_type(q);
  const at::Tensor rows = as_rows(q);
  const at::Tensor keys = as_rows(k.to(type));
  const at::Tensor values = as_rows(v.to(type));
  Forward result{.output = at::empty({work.batch, work.heads, work.queries, v.size(3)}, q.options()),
                 .log_sums = at::empty({work.rows(), work.queries, 1}, q.options().dtype(type))};
  const at::Tensor output = result.output.view({work.rows(), work.queries, v.size(3)});
  for (int64_t first = 0; first < work.queries; first += work.piece.queries) {
    const at::Tensor queries = query_piece(work, rows, first, type);
    at::Tensor most;  // [R, q, 1] maximum so far
    at::Tensor sum;   // [R, q, 1] of exp(score - most)
    at::Tensor mix;   // [R, q, E] of exp(score - most) v
    for (int64_t key = 0; key < work.keys && work.sees(first, key); key += work.piece.keys) {
      at::Tensor weights = scores_of(work, queries, keys, first, key);
      const at::Tensor here = weights.amax(-1, true);
      const at::Tensor next = most.defined() ? at::maximum(most, here) : here.clamp_min(kLowest);
      weights.sub_(next).exp_();
      const at::Tensor part = at::bmm(weights, values.narrow(1, key, work.keys_at(key)));
      if (most.defined()) {
        const at::Tensor shrink = most.sub_(next).exp_();
        sum.mul_(shrink).add_(weights.sum(-1, true));
        mix.mul_(shrink).add_(part);
      } else {
        sum = weights.sum(-1, true);
        mix = part;
      }
      most = next;
    }
    const int64_t count = work.queries_at(first);
    sum.clamp_min_(kNothing);
    output.narrow(1, first, count).copy_(mix.div_(sum));
    result.log_sums.narrow(1, first, count).copy_(most.add_(sum.log_()));
  }
  return result;
}

struct Needs {
  bool q = true;
  bool k = true;
  bool v = true;
};

// Gradients [R, ., .] in the computing type; undefined where not needed. Of s, the scores: dP = dO v', dS = P (dP -
// sum(dO O)), dq = scale dS k, dk = dS' (scale q), dv = P' dO.
struct Gradients {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

struct Saved {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  Forward result;
};

Gradients backward_in_pieces(const Work& work, const Saved& saved, const at::Tensor& gradient, const Needs& needs) {
  const at::ScalarType type = compute_type(saved.q);
  const at::Tensor rows = as_rows(saved.q);
  const at::Tensor keys = as_rows(saved.k.to(type));
  const at::Tensor values = as_rows(saved.v.to(type));
  const at::Tensor output = as_rows(saved.result.output);
  const at::Tensor incoming = as_rows(gradient);
  Gradients result;
  if (needs.q) result.q = at::empty_like(rows);
  if (needs.k) result.k = at::zeros_like(keys);
  if (needs.v) result.v = at::zeros_like(values);
  for (int64_t first = 0; first < work.queries; first += work.piece.queries) {
    const int64_t count = work.queries_at(first);
    const at::Tensor queries = query_piece(work, rows, first, type);
    const at::Tensor up = incoming.narrow(1, first, count).to(type);
    const at::Tensor offset = (up * output.narrow(1, first, count)).sum(-1, true);  // [R, q, 1]
    const at::Tensor log_sums = saved.result.log_sums.narrow(1, first, count);
    at::Tensor to_queries;
    for (int64_t key = 0; key < work.keys && work.sees(first, key); key += work.piece.keys) {
      const int64_t key_count = work.keys_at(key);
      const at::Tensor weights = scores_of(work, queries, keys, first, key).sub_(log_sums).exp_();
      if (needs.v) result.v.narrow(1, key, key_count).baddbmm_(weights.transpose(1, 2), up);
      if (!needs.q && !needs.k) continue;
      at::Tensor to_scores = at::bmm(up, values.narrow(1, key, key_count).transpose(1, 2));
      to_scores.sub_(offset).mul_(weights);
      if (needs.k) result.k.narrow(1, key, key_count).baddbmm_(to_scores.transpose(1, 2), queries);
      if (!needs.q) continue;
      const at::Tensor part = keys.narrow(1, key, key_count);
      to_queries = to_queries.defined() ? to_queries.baddbmm_(to_scores, part) : at::bmm(to_scores, part);
    }
    if (needs.q) result.q.narrow(1, first, count).copy_(to_queries.mul_(work.scale));
  }
  return result;
}

class ChunkedAttention : public torch::autograd::Function<ChunkedAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const c10::intrusive_ptr<WorkHolder>& holder) {
    const Work& work = holder->work;
    const Forward result = forward_in_pieces(work, q, k, v);
    context->save_for_backward({q, k, v, result.output, result.log_sums});
    context->saved_data[kWork] = c10::IValue::make_capsule(holder);
    return result.output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list result(4);  // q, k, v, the holder
    if (!gradients[0].defined()) return result;
    const auto holder = context->saved_data[kWork].toCapsule();
    const Work& work = static_cast<const WorkHolder&>(*holder).work;
    const variable_list saved = context->get_saved_variables();
    const Needs needs{context->needs_input_grad(0), context->needs_input_grad(1), context->needs_input_grad(2)};
    const at::AutoGradMode without_gradients(false);
    const Gradients own =
        backward_in_pieces(work, {saved[0], saved[1], saved[2], {saved[3], saved[4]}}, gradients[0], needs);
    const auto put = [&](size_t index, const at::Tensor& value) {
      if (value.defined()) result[index] = value.to(saved[index].scalar_type()).view(saved[index].sizes());
    };
    put(0, own.q);
    put(1, own.k);
    put(2, own.v);
    return result;
  }
};

}  // namespace

AttentionPiece attention_piece(int64_t rows, int64_t queries, int64_t keys, int64_t bytes) {
  const int64_t scores = std::max<int64_t>(bytes / 4 / std::max<int64_t>(rows, 1), 1);  // of one row
  AttentionPiece piece;
  piece.queries = std::clamp(scores / std::max<int64_t>(keys, 1), std::min(kLeastPiece, queries), queries);
  if (piece.queries < queries) piece.queries -= piece.queries % kLeastPiece;
  piece.keys = std::clamp(scores / std::max<int64_t>(piece.queries, 1), std::min(kLeastPiece, keys), keys);
  if (piece.keys < keys) piece.keys -= piece.keys % kLeastPiece;
  return piece;
}

at::Tensor chunked_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const ChunkedAttentionOptions& options) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && k.size(2) == v.size(2) && q.size(3) == k.size(3) &&
                  q.size(0) == k.size(0) && q.size(1) == k.size(1) && k.size(0) == v.size(0) && k.size(1) == v.size(1),
              "attention in pieces: shapes ", q.sizes(), ", ", k.sizes(), ", ", v.sizes(), " do not fit");
  Work work{.batch = q.size(0), .heads = q.size(1), .queries = q.size(2), .keys = k.size(2)};
  if (work.rows() * work.queries * work.keys == 0)
    return at::zeros({work.batch, work.heads, work.queries, v.size(3)}, q.options());
  work.is_causal = options.is_causal;
  work.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(3))));
  work.piece = attention_piece(work.rows(), work.queries, work.keys, options.piece_bytes);
  if (options.mask.defined()) work.mask = options.mask.expand({work.batch, work.heads, work.queries, work.keys});
  return ChunkedAttention::apply(q, k, v, c10::make_intrusive<WorkHolder>(std::move(work)));
}

}  // namespace cinnabar::nn
