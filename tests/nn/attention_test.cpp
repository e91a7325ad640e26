#include "cinnabar/nn/attention.h"

#include <cmath>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace cinnabar::nn {

namespace {

at::Tensor attention_by_heads(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads,
                              bool is_causal) {
  std::vector<at::Tensor> outputs;
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t width = q.size(2) / heads;
    const auto part = [&](const at::Tensor& x) { return x.slice(2, head * width, (head + 1) * width); };
    at::Tensor scores = part(q).matmul(part(k).transpose(1, 2)) / std::sqrt(static_cast<double>(width));
    if (is_causal) {
      scores = scores.masked_fill(at::ones({q.size(1), k.size(1)}, at::kBool).triu(1), -1e30);
    }
    outputs.push_back(scores.softmax(-1).matmul(part(v)));
  }
  return at::cat(outputs, 2);
}

}  // namespace

TEST_CASE("attention equals the written-out formula") {
  at::manual_seed(0);
  const at::Tensor q = at::randn({2, 5, 12});
  const at::Tensor k = at::randn({2, 7, 12});
  const at::Tensor v = at::randn({2, 7, 12});
  // fp32 sums of 7 terms in another order.
  CHECK((attention(q, k, v, 3) - attention_by_heads(q, k, v, 3, false)).abs().max().item<double>() < 1e-6);
  CHECK((attention(q, q, q, 3, true) - attention_by_heads(q, q, q, 3, true)).abs().max().item<double>() < 1e-6);
}

TEST_CASE("attention works in bf16 and gives gradients") {
  at::manual_seed(0);
  const at::Tensor x = at::randn({1, 9, 8});
  at::Tensor narrow = x.to(at::kBFloat16).set_requires_grad(true);
  const at::Tensor y = attention(narrow, narrow, narrow, 2);
  // bf16 has 8 significant bits.
  CHECK((y.detach().to(at::kFloat) - attention(x, x, x, 2)).abs().max().item<double>() < 0.03);
  y.sum().backward();
  CHECK((narrow.grad().scalar_type() == at::kBFloat16));
}

TEST_CASE("a width that heads do not divide is refused with the numbers") {
  CHECK_THROWS_WITH_AS(CrossAttention(10, 4, 3), doctest::Contains("width 10 with 3 heads"), base::Error);
}

}  // namespace cinnabar::nn
