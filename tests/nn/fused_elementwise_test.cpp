#include "cinnabar/nn/fused_elementwise.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/nn/norm.h"
#include "nn/has_kernels.h"
#include "nn/kernel_numbers.h"

namespace cinnabar::nn {

TEST_CASE("group normalisation with and without SiLU equals the plain composition in double") {
  if (!has_kernels()) return;
  at::manual_seed(1);
  struct Case {
    std::vector<int64_t> sizes;
    int64_t groups;
    double mean;
  };
  for (const Case& c : {Case{{2, 32, 9, 11}, 8, 0.0}, Case{{1, 30, 5, 3}, 3, 5.0}, Case{{1, 20, 1, 1}, 2, 0.0},
                        Case{{2, 320, 4, 4}, 32, -2.0}}) {
    for (const bool has_silu : {false, true}) {
      CAPTURE(c.sizes[1]);
      const at::Tensor x = numbers(c.sizes) * 2.0 + c.mean;
      const at::Tensor weight = numbers({c.sizes[1]});
      const at::Tensor bias = numbers({c.sizes[1]});
      const at::Tensor gradient = numbers(c.sizes);
      const at::Tensor x2 = leaf(x, at::kDouble);
      at::Tensor expected = at::group_norm(x2, c.groups, weight, bias, 1e-5);
      if (has_silu) expected = at::silu(expected);
      (expected * gradient).sum().backward();
      const at::Tensor x1 = leaf(x, at::kFloat);
      const at::Tensor found = frozen_group_norm(x1, weight.to(at::kFloat), bias.to(at::kFloat),
                                                 {.groups = c.groups, .epsilon = 1e-5, .has_silu = has_silu});
      (found * gradient.to(at::kFloat)).sum().backward();
      // A few roundings of fp32, more where a mean is taken away.
      CHECK(error(found, expected) < 2e-6);
      CHECK(error(x1.grad(), x2.grad()) < 5e-6);
    }
  }
}

TEST_CASE("a mean far from zero costs no digits of the variance") {
  if (!has_kernels()) return;
  at::manual_seed(2);
  const at::Tensor x = (numbers({1, 32, 16, 16}) + 1000.0).to(at::kFloat);
  const at::Tensor expected = at::group_norm(x.to(at::kDouble), 4, {}, {}, 1e-5);
  const at::Tensor found = frozen_group_norm(x, at::ones({32}), at::zeros({32}), {.groups = 4});
  CHECK(error(found, expected) < 1e-4);  // x itself is rounded to 6e-5
}

TEST_CASE("the layer takes the fused way only with frozen parameters, and both ways agree") {
  at::manual_seed(3);
  GroupNorm norm(4, 16, 1e-5);
  norm.weight.normal_();
  norm.bias.normal_();
  const at::Tensor x = at::randn({2, 16, 6, 5});
  const at::Tensor frozen = norm.forward_silu(x);
  norm.requires_grad(true);
  const at::Tensor trained = norm.forward_silu(x);
  CHECK((frozen - trained).abs().max().item<double>() < 2e-6);
  trained.sum().backward();
  CHECK(norm.weight.grad().defined());
}

TEST_CASE("a gate equals the plain composition in double") {
  if (!has_kernels()) return;
  at::manual_seed(4);
  const at::Tensor x = numbers({2, 3, 74}) * 3.0;
  const at::Tensor gradient = numbers({2, 3, 37});
  const at::Tensor x2 = leaf(x, at::kDouble);
  const auto halves = x2.chunk(2, -1);
  const at::Tensor expected = halves[0] * at::gelu(halves[1]);
  (expected * gradient).sum().backward();
  const at::Tensor x1 = leaf(x, at::kFloat);
  const at::Tensor found = gated(x1);
  (found * gradient.to(at::kFloat)).sum().backward();
  CHECK(error(found, expected) < 1e-6);
  CHECK(error(x1.grad(), x2.grad()) < 1e-6);
  CHECK_FALSE(is_gate_fused(x1.to(at::kBFloat16)));
}

TEST_CASE("a gate keeps its digits where it is nearly closed") {
  if (!has_kernels()) return;
  const at::Tensor gate = at::linspace(-6.0, 6.0, 4801, at::kFloat).unsqueeze(0);
  const at::Tensor x = at::cat({at::ones_like(gate), gate}, 1).requires_grad_(true);
  const at::Tensor x2 = leaf(x.detach(), at::kDouble);
  const std::vector<at::Tensor> halves = x2.chunk(2, 1);
  const at::Tensor expected = halves[0] * at::gelu(halves[1]);
  const at::Tensor found = gated(x);
  const auto relative = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a.to(at::kDouble) - b).abs() / (b.abs() + 1e-12)).max().item<double>();
  };
  // The exponent x^2 / 2 = 18 at the ends is rounded three times, 2^-24 of it each: 3.2e-6, and a few units for the
  // rest.
  constexpr double kMost = 4e-6;
  CHECK(relative(found, expected) < kMost);
  found.sum().backward();
  expected.sum().backward();
  CHECK(relative(x.grad().slice(1, 0, 4801), x2.grad().slice(1, 0, 4801)) < kMost);
  // The slope goes through zero near -0.75.
  CHECK((x.grad().to(at::kDouble) - x2.grad()).abs().max().item<double>() < 4e-7);
}

}  // namespace cinnabar::nn
