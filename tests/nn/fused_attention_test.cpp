#include "cinnabar/nn/fused_attention.h"

#include <cmath>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "nn/has_kernels.h"
#include "nn/kernel_numbers.h"

namespace cinnabar::nn {

namespace {

at::Tensor written_out(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads) {
  const auto split = [&](const at::Tensor& x) { return x.unflatten(2, {heads, x.size(2) / heads}).transpose(1, 2); };
  const double width = static_cast<double>(q.size(2) / heads);
  const at::Tensor scores = split(q).matmul(split(k).transpose(2, 3)) / std::sqrt(width);
  return scores.softmax(-1).matmul(split(v)).transpose(1, 2).flatten(2);
}

void check(int64_t batch, int64_t queries, int64_t keys, int64_t heads, int64_t width) {
  CAPTURE(queries);
  CAPTURE(keys);
  CAPTURE(width);
  const at::Tensor q = numbers({batch, queries, heads * width}) * 2.0;
  const at::Tensor k = numbers({batch, keys, heads * width});
  const at::Tensor v = numbers({batch, keys, heads * width});
  const at::Tensor gradient = numbers(q.sizes());
  const at::Tensor q2 = leaf(q, at::kDouble);
  const at::Tensor k2 = leaf(k, at::kDouble);
  const at::Tensor v2 = leaf(v, at::kDouble);
  const at::Tensor expected = written_out(q2, k2, v2, heads);
  (expected * gradient).sum().backward();
  const at::Tensor q1 = leaf(q, at::kFloat);
  const at::Tensor k1 = leaf(k, at::kFloat);
  const at::Tensor v1 = leaf(v, at::kFloat);
  const at::Tensor found = fused_attention(q1, k1, v1, heads);
  (found * gradient.to(at::kFloat)).sum().backward();
  // Rounding of the scores (a few units) goes through the exponential.
  CHECK(error(found, expected) < 5e-6);
  CHECK(error(q1.grad(), q2.grad()) < 1e-5);
  CHECK(error(k1.grad(), k2.grad()) < 1e-5);
  CHECK(error(v1.grad(), v2.grad()) < 1e-5);
}

}  // namespace

TEST_CASE("fused attention equals the written-out formula in double, with all gradients") {
  if (!has_kernels()) return;
  at::manual_seed(0);
  check(2, 70, 77, 2, 40);
  check(1, 5, 3, 2, 7);
  check(1, 57, 530, 1, 16);  // more than one block of queries and of keys
  check(1, 1, 2, 1, 4);
}

TEST_CASE("large scores neither overflow nor vanish") {
  if (!has_kernels()) return;
  at::manual_seed(1);
  const at::Tensor q = numbers({1, 9, 16}) * 60.0;
  const at::Tensor k = numbers({1, 520, 16}) * 60.0;
  const at::Tensor v = numbers({1, 520, 16});
  const at::Tensor found = fused_attention(q.to(at::kFloat), k.to(at::kFloat), v.to(at::kFloat), 2);
  // Scores of 10000 are rounded to 1e-3.
  CHECK(error(found, written_out(q, k, v, 2)) < 5e-2);
}

TEST_CASE("a number that is not finite comes out") {
  if (!has_kernels()) return;
  at::Tensor q = at::ones({1, 2, 8});
  q[0][1][3] = std::nan("");
  const at::Tensor found = fused_attention(q, at::ones({1, 3, 8}), at::ones({1, 3, 8}), 1);
  CHECK(found[0][0].isfinite().all().item<bool>());
  CHECK_FALSE(found[0][1].isfinite().any().item<bool>());
}

}  // namespace cinnabar::nn
