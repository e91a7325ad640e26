#include "cinnabar/adapters/low_rank.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace {

using cinnabar::adapters::add_low_rank_conv;
using cinnabar::adapters::add_low_rank_linear;
using cinnabar::adapters::LowRankUpdate;

at::Tensor ramp(at::IntArrayRef shape, double low, double high) {
  int64_t count = 1;
  for (const int64_t side : shape) count *= side;
  return at::sin(at::linspace(low, high, count)).reshape(shape);
}

double largest(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

struct Gradients {
  at::Tensor result, x, y, down, up;
};

// Runs `forward` on fresh leaves and returns what came out and the gradients of a weighted sum.
template <class Forward>
Gradients differentiate(const at::Tensor& x0, const at::Tensor& y0, const LowRankUpdate& update0,
                        const Forward& forward) {
  const auto leaf = [](const at::Tensor& value) { return value.clone().requires_grad_(true); };
  Gradients g{.x = leaf(x0), .y = leaf(y0), .down = leaf(update0.down), .up = leaf(update0.up)};
  g.result = forward(g.x, g.y * 1.0, LowRankUpdate{g.down, g.up, update0.mask, update0.scale});
  (g.result * ramp(g.result.sizes(), 1.0, 9.0)).sum().backward();
  return g;
}

void check_same(const Gradients& a, const Gradients& b) {
  CHECK(largest(a.result, b.result) < 1e-6);
  CHECK(largest(a.y.grad(), b.y.grad()) == 0.0);
  // Sums in another order: a few units in the last place of the largest term.
  CHECK(largest(a.x.grad(), b.x.grad()) < 1e-6 * b.x.grad().abs().max().item<double>());
  CHECK(largest(a.down.grad(), b.down.grad()) < 1e-6 * b.down.grad().abs().max().item<double>());
  CHECK(largest(a.up.grad(), b.up.grad()) < 1e-6 * b.up.grad().abs().max().item<double>());
}

}  // namespace

TEST_CASE("linear_update_and_gradients_equal_plain_autograd") {
  for (const bool masked : {false, true}) {
    const at::Tensor x = ramp({2, 5, 6}, 0.0, 7.0);
    const at::Tensor y = ramp({2, 5, 4}, 2.0, 3.0);
    LowRankUpdate update{.down = ramp({3, 6}, 0.3, 5.0), .up = ramp({4, 3}, 1.0, 4.0), .scale = 0.7};
    if (masked) update.mask = ramp({2, 5, 3}, 0.0, 3.0).gt(0.5).to(at::kFloat);
    const Gradients fused = differentiate(
        x, y, update, [](const auto& in, const auto& out, const auto& u) { return add_low_rank_linear(in, out, u); });
    const Gradients plain = differentiate(x, y, update, [](const auto& in, const auto& out, const auto& u) {
      at::Tensor state = at::linear(in, u.down);
      if (u.mask.defined()) state = state * u.mask;
      return out + at::linear(state, u.up) * u.scale;
    });
    check_same(fused, plain);
  }
}

TEST_CASE("convolution_update_and_gradients_equal_plain_autograd") {
  for (const int64_t stride : {1, 2}) {
    const at::Tensor x = ramp({2, 3, 6, 8}, 0.0, 9.0);
    LowRankUpdate update{.down = ramp({2, 3, 3, 3}, 0.3, 5.0), .up = ramp({4, 2, 1, 1}, 1.0, 4.0), .scale = 1.3};
    const at::Tensor y = ramp({2, 4, 6 / stride, 8 / stride}, 2.0, 3.0);
    update.mask = ramp({2, 2, 6 / stride, 8 / stride}, 0.0, 3.0).gt(0.5).to(at::kFloat);
    const Gradients fused = differentiate(x, y, update, [&](const auto& in, const auto& out, const auto& u) {
      return add_low_rank_conv(in, out, u, stride, 1);
    });
    const Gradients plain = differentiate(x, y, update, [&](const auto& in, const auto& out, const auto& u) {
      return out + at::conv2d(at::conv2d(in, u.down, {}, stride, 1) * u.mask, u.up) * u.scale;
    });
    check_same(fused, plain);
  }
}

TEST_CASE("only_the_gradients_that_are_needed_are_computed") {
  const at::Tensor x = ramp({2, 3, 4, 4}, 0.0, 1.0);
  const at::Tensor y = ramp({2, 5, 4, 4}, 0.0, 1.0);
  const at::Tensor down = ramp({2, 3, 3, 3}, 0.0, 1.0);  // frozen
  const at::Tensor up = ramp({5, 2, 1, 1}, 0.0, 1.0).requires_grad_(true);
  add_low_rank_conv(x, y, {.down = down, .up = up}, 1, 1).sum().backward();
  CHECK(up.grad().defined());
  CHECK_FALSE(down.grad().defined());

  const at::Tensor flat_x = ramp({3, 4}, 0.0, 1.0).requires_grad_(true);
  const at::Tensor frozen_up = ramp({5, 2}, 0.0, 1.0);
  const at::Tensor frozen_down = ramp({2, 4}, 0.0, 1.0);
  add_low_rank_linear(flat_x, at::zeros({3, 5}), {.down = frozen_down, .up = frozen_up, .scale = 2.0}).sum().backward();
  CHECK(largest(flat_x.grad(), at::ones({3, 5}).mm(frozen_up).mm(frozen_down) * 2.0) < 1e-5);
}

TEST_CASE("half_precision_activations_use_fp32_masters_and_give_fp32_gradients") {
  const at::Tensor x = ramp({2, 4, 8}, 0.0, 3.0).to(at::kBFloat16);
  const at::Tensor y = ramp({2, 4, 6}, 0.0, 3.0).to(at::kBFloat16);
  const at::Tensor down = ramp({2, 8}, 0.0, 3.0).requires_grad_(true);
  const at::Tensor up = ramp({6, 2}, 0.0, 3.0).requires_grad_(true);
  const at::Tensor expected = (y.to(at::kFloat) + x.to(at::kFloat).matmul(down.t()).matmul(up.t())).detach();
  const at::Tensor result = add_low_rank_linear(x, y.clone(), {.down = down, .up = up});
  CHECK((result.scalar_type() == at::kBFloat16));
  CHECK(largest(result.to(at::kFloat), expected) < 0.02 * expected.abs().max().item<double>());  // bf16 has 8 bits
  result.to(at::kFloat).sum().backward();
  CHECK((down.grad().scalar_type() == at::kFloat));
  CHECK((up.grad().scalar_type() == at::kFloat));
}

TEST_CASE("the_result_takes_over_the_storage_of_y") {
  const at::Tensor x = ramp({4, 3}, 0.0, 1.0);
  const at::Tensor y = ramp({4, 5}, 0.0, 1.0);
  const at::Tensor up = ramp({5, 2}, 0.0, 1.0).requires_grad_(true);
  const at::Tensor result = add_low_rank_linear(x, y, {.down = ramp({2, 3}, 0.0, 1.0), .up = up});
  CHECK(result.data_ptr() == y.data_ptr());
}

TEST_CASE("a_node_that_saved_y_reports_the_change_instead_of_using_it") {
  const at::Tensor w = ramp({4, 5}, 0.0, 1.0).requires_grad_(true);
  const at::Tensor y = w.sigmoid();  // keeps its result for backward
  const at::Tensor up = ramp({5, 2}, 0.0, 1.0).requires_grad_(true);
  const at::Tensor result = add_low_rank_linear(ramp({4, 3}, 0.0, 1.0), y, {.down = ramp({2, 3}, 0.0, 1.0), .up = up});
  CHECK_THROWS(result.sum().backward());
}
