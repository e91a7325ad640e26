#include "cinnabar/nn/chunked_attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/nn/attention.h"
#include "cinnabar/nn/attention_choice.h"
#include "nn/counting_allocator.h"

namespace cinnabar::nn {

namespace {

// Written out: the whole matrix of scores.
at::Tensor plain_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const ChunkedAttentionOptions& options = {}) {
  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(3))));
  at::Tensor scores = at::matmul(q * scale, k.transpose(2, 3));
  constexpr double kUnseen = -std::numeric_limits<double>::infinity();
  if (options.is_causal) scores = scores.masked_fill(at::ones({q.size(2), k.size(2)}, at::kBool).triu(1), kUnseen);
  if (options.mask.defined() && options.mask.scalar_type() == at::kBool) {
    scores = scores.masked_fill(options.mask.logical_not(), kUnseen);
  } else if (options.mask.defined()) {
    scores = scores + options.mask;
  }
  return at::matmul(scores.softmax(-1), v);
}

struct Shape {
  int64_t batch, heads, queries, keys, width, value_width;
};

struct Inputs {
  at::Tensor q, k, v, up;
};

Inputs inputs_of(const Shape& shape) {
  at::manual_seed(shape.queries * 31 + shape.keys);
  return {at::randn({shape.batch, shape.heads, shape.queries, shape.width}),
          at::randn({shape.batch, shape.heads, shape.keys, shape.width}),
          at::randn({shape.batch, shape.heads, shape.keys, shape.value_width}),
          at::randn({shape.batch, shape.heads, shape.queries, shape.value_width})};
}

// Output, then gradients of q, k, v for the gradient `up` of the output.
template <class Attention>
std::vector<at::Tensor> all_of(const Inputs& inputs, const Attention& attention) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& x : {inputs.q, inputs.k, inputs.v})
    leaves.push_back(x.detach().clone().set_requires_grad(true));
  const at::Tensor output = attention(leaves[0], leaves[1], leaves[2]);
  output.backward(inputs.up);
  return {output.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

double difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

void check_equal(const Shape& shape, const ChunkedAttentionOptions& options) {
  const Inputs inputs = inputs_of(shape);
  const auto own =
      all_of(inputs, [&](const auto& q, const auto& k, const auto& v) { return chunked_attention(q, k, v, options); });
  const auto plain =
      all_of(inputs, [&](const auto& q, const auto& k, const auto& v) { return plain_attention(q, k, v, options); });
  for (size_t i = 0; i < plain.size(); ++i) {
    CAPTURE(i);
    REQUIRE((own[i].sizes() == plain[i].sizes()));
    // fp32, sums in another order; values of about 1.
    CHECK(difference(own[i], plain[i]) < 1e-5);
  }
}

// So small that even these short sequences fall into many pieces of 64 by 64.
constexpr int64_t kSmallPieces = 1 << 10;

TEST_CASE("attention in pieces equals plain attention forward and backward") {
  for (const Shape& shape : {Shape{2, 3, 64, 64, 8, 8},      // one piece
                             Shape{1, 2, 257, 257, 40, 40},  // odd lengths, more than four pieces each way
                             Shape{2, 2, 1, 1, 4, 4}, Shape{1, 1, 130, 65, 16, 16},
                             Shape{2, 4, 193, 77, 10, 10},    // cross-attention over one window of text
                             Shape{1, 2, 70, 300, 12, 7}}) {  // values of another width
    CAPTURE(shape.queries);
    CAPTURE(shape.keys);
    check_equal(shape, {.piece_bytes = kSmallPieces});
    check_equal(shape, {});
    check_equal(shape, {.scale = 0.3, .piece_bytes = kSmallPieces});
  }
}

TEST_CASE("attention in pieces keeps causal order and masks") {
  const Shape shape{2, 2, 150, 150, 8, 8};
  check_equal(shape, {.is_causal = true, .piece_bytes = kSmallPieces});
  check_equal(shape, {.is_causal = true});
  check_equal({1, 2, 90, 200, 8, 8}, {.is_causal = true, .piece_bytes = kSmallPieces});
  at::manual_seed(5);
  at::Tensor seen = at::rand({2, 1, 1, 150}).gt(0.4);
  seen.select(3, 0).fill_(true);  // every query sees something
  check_equal(shape, {.mask = seen, .piece_bytes = kSmallPieces});
  check_equal(shape, {.mask = at::randn({1, 2, 150, 150}), .piece_bytes = kSmallPieces});
  check_equal(shape, {.is_causal = true, .mask = seen, .piece_bytes = kSmallPieces});
}

TEST_CASE("a query that sees nothing gives zero and no gradient") {
  const Inputs inputs = inputs_of({1, 1, 3, 5, 4, 4});
  at::Tensor seen = at::ones({1, 1, 3, 5}, at::kBool);
  seen.select(2, 1).fill_(false);
  const auto own = all_of(
      inputs, [&](const auto& q, const auto& k, const auto& v) { return chunked_attention(q, k, v, {.mask = seen}); });
  CHECK(own[0].select(2, 1).abs().max().item<double>() == 0.0);
  CHECK(own[1].select(2, 1).abs().max().item<double>() == 0.0);
  for (const at::Tensor& x : own) CHECK(at::isfinite(x).all().item<bool>());
}

TEST_CASE("large scores neither overflow nor lose their order") {
  Inputs inputs = inputs_of({1, 1, 70, 140, 4, 4});
  inputs.q = inputs.q * 100.0;
  const at::Tensor own = chunked_attention(inputs.q, inputs.k, inputs.v, {.piece_bytes = kSmallPieces});
  CHECK(difference(own, plain_attention(inputs.q, inputs.k, inputs.v)) < 1e-4);
}

TEST_CASE("half types are computed in fp32 and come back as they were") {
  const Inputs inputs = inputs_of({1, 2, 100, 100, 16, 16});
  const at::Tensor exact = plain_attention(inputs.q, inputs.k, inputs.v);
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    at::Tensor q = inputs.q.to(type).set_requires_grad(true);
    const at::Tensor own = chunked_attention(q, inputs.k.to(type), inputs.v.to(type), {.piece_bytes = kSmallPieces});
    CHECK((own.scalar_type() == type));
    // Rounding of inputs and output: 8 significant bits in bf16.
    CHECK(difference(own.detach().to(at::kFloat), exact) < 0.03);
    own.backward(inputs.up.to(type));
    CHECK((q.grad().scalar_type() == type));
  }
}

TEST_CASE("only the gradients that are asked for are computed") {
  const Inputs inputs = inputs_of({1, 1, 80, 77, 8, 8});
  at::Tensor q = inputs.q.clone().set_requires_grad(true);
  chunked_attention(q, inputs.k, inputs.v).backward(inputs.up);
  const auto plain =
      all_of(inputs, [](const auto& a, const auto& b, const auto& c) { return plain_attention(a, b, c); });
  CHECK(difference(q.grad(), plain[1]) < 1e-5);
  CHECK_FALSE(inputs.k.grad().defined());
}

int64_t peak_of(int64_t tokens, bool is_plain) {
  const Inputs inputs = inputs_of({1, 2, tokens, tokens, 8, 8});
  at::Tensor q = inputs.q.set_requires_grad(true);
  const test::CountingAllocator counter;
  // 64 queries by all keys at most, so that pieces stay whole rows of keys and grow with the tokens alone.
  const at::Tensor output = is_plain ? plain_attention(q, inputs.k, inputs.v)
                                     : chunked_attention(q, inputs.k, inputs.v, {.piece_bytes = kSmallPieces});
  output.backward(inputs.up);
  return counter.peak_bytes();
}

TEST_CASE("memory of attention in pieces grows with the tokens, not with their square") {
  const int64_t small = peak_of(256, false);
  const int64_t large = peak_of(1024, false);
  CAPTURE(small);
  CAPTURE(large);
  CHECK(large < 5 * small);
  // The measure sees the square: four times the tokens are about sixteen times the memory.
  const int64_t square = peak_of(1024, true);
  CHECK(square > 12 * peak_of(256, true));
  CHECK(square > 5 * large);
}

TEST_CASE("pieces stay within the bytes that are allowed") {
  for (const int64_t tokens : {77, 1024, 4096, 65536}) {
    for (const int64_t rows : {1, 16, 80}) {
      CAPTURE(tokens);
      CAPTURE(rows);
      const AttentionPiece piece = attention_piece(rows, tokens, tokens, kAttentionPieceBytes);
      CHECK(piece.queries >= std::min<int64_t>(64, tokens));
      CHECK(rows * piece.queries * piece.keys * 4 <= kAttentionPieceBytes);
    }
  }
  // Short texts: all keys at once, and as many queries as fit.
  CHECK(attention_piece(16, 4096, 77, kAttentionPieceBytes).keys == 77);
  CHECK(attention_piece(16, 4096, 77, kAttentionPieceBytes).queries == 4096);
}

TEST_CASE("layers take pieces for heads that are wider than the fused kernel's") {
  at::manual_seed(1);
  const at::Tensor x = at::randn({1, 700, 16});
  const at::Tensor fused = attention(x, x, x, 2);
  set_largest_fused_head(7);  // heads of 8
  const at::Tensor own = attention(x, x, x, 2);
  set_largest_fused_head(8);
  const at::Tensor again = attention(x, x, x, 2);
  set_largest_fused_head(kAnyHead);
  CHECK(difference(own, fused) < 1e-5);
  CHECK(difference(own, fused) > 0.0);  // another order of sums: it did run
  CHECK(difference(again, fused) == 0.0);
}

}  // namespace

}  // namespace cinnabar::nn
