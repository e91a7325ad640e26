#include "cinnabar/nn/layer.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace cinnabar::nn {

namespace {

// y -> y * factor + x summed over its last dimension.
class Scaling : public Adapter {
 public:
  explicit Scaling(double factor) : factor_(factor) {}
  at::Tensor apply(const Layer&, const at::Tensor& x, const at::Tensor& y) override {
    ++calls;
    return y * factor_ + x.sum();
  }
  at::Tensor delta_weight(const Layer& layer) const override { return at::zeros_like(layer.weight); }
  int calls = 0;

 private:
  double factor_;
};

}  // namespace

TEST_CASE("adapters get the layer's input and the output of those before them") {
  Linear linear(1, 1);
  linear.weight.fill_(2.0);
  linear.bias.fill_(1.0);
  const auto tripled = std::make_shared<Scaling>(3.0);
  const auto halved = std::make_shared<Scaling>(0.5);
  linear.attach(tripled);
  linear.attach(halved);
  const at::Tensor x = at::full({1, 1}, 4.0);
  CHECK(linear.base_forward(x).item<double>() == 9.0);
  CHECK(linear.forward(x).item<double>() == (9.0 * 3.0 + 4.0) * 0.5 + 4.0);
  CHECK(tripled->calls == 1);
  linear.detach(*tripled);
  CHECK(linear.forward(x).item<double>() == 9.0 * 0.5 + 4.0);
  linear.detach_all();
  CHECK_FALSE(linear.has_adapters());
  CHECK(linear.forward(x).item<double>() == 9.0);
}

TEST_CASE("weights stored in 16 bits are widened to the input's type") {
  Linear linear(4, 3);
  linear.weight.normal_();
  linear.bias.zero_();
  linear.to(at::kBFloat16);
  const at::Tensor x = at::randn({2, 4});
  const at::Tensor y = linear.forward(x);
  CHECK((y.scalar_type() == at::kFloat));
  CHECK(at::allclose(y, x.matmul(linear.weight.to(at::kFloat).t())));
}

TEST_CASE("convolutions know their shape") {
  const Conv2d conv({.in = 3, .out = 5, .kernel = 3, .stride = 2, .padding = 1});
  CHECK(conv.shape().is_convolution);
  CHECK(conv.shape().stride == 2);
  CHECK(conv.weight.sizes() == at::IntArrayRef({5, 3, 3, 3}));
  CHECK(conv.forward(at::zeros({1, 3, 7, 8})).sizes() == at::IntArrayRef({1, 5, 4, 4}));
}

TEST_CASE("convolutions of many weights at few positions give what the library gives") {
  Conv2d conv({.in = 700, .out = 650, .stride = 2});
  conv.weight.fill_(0.01);
  conv.weight.select(2, 0).mul_(-0.5);
  conv.bias.copy_(at::arange(650));
  const at::Tensor x = at::randn({2, 700, 5, 3}).set_requires_grad(true);
  const at::Tensor found = conv.forward(x);
  found.sum().backward();
  const at::Tensor plain = x.detach().clone().set_requires_grad(true);
  const at::Tensor expected = at::conv2d(plain, conv.weight, conv.bias, 2, 1);
  expected.sum().backward();
  CHECK(found.sizes() == expected.sizes());
  // Sums of 6,300 fp32 terms in another order.
  CHECK(at::allclose(found, expected, 1e-4, 1e-4));
  CHECK(at::allclose(x.grad(), plain.grad(), 1e-4, 1e-4));
}

TEST_CASE("layers in float16 give the float32 result of the same numbers, rounded") {
  Linear linear(40, 8);
  Conv2d conv({.in = 6, .out = 8, .kernel = 3, .padding = 1});
  for (at::Tensor* value : {&linear.weight, &linear.bias, &conv.weight, &conv.bias})
    value->copy_(at::randn_like(*value));
  const auto check = [](Layer& layer, const at::Tensor& input) {
    layer.to(at::kHalf);
    const at::Tensor x = input.to(at::kHalf).set_requires_grad(true);
    const at::Tensor found = layer.forward(x);
    CHECK((found.scalar_type() == at::kHalf));
    found.sum().backward();
    CHECK((x.grad().scalar_type() == at::kHalf));
    layer.to(at::kFloat);
    const at::Tensor expected = layer.forward(x.detach().to(at::kFloat));
    // Half a unit of the last digit, and one for other orders of summing.
    CHECK(at::allclose(found.to(at::kFloat), expected, 2e-3, 2e-3));
  };
  check(linear, at::randn({3, 40}));
  check(conv, at::randn({2, 6, 5, 7}));
}

}  // namespace cinnabar::nn
