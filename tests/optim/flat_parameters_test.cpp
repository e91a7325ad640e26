#include <doctest/doctest.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <limits>

#include "cinnabar/optim/flat_parameters.h"

namespace cinnabar::optim {

namespace {

struct Pair {
  at::Tensor down = at::arange(6, at::kFloat).view({2, 3});
  at::Tensor up = at::full({5}, 2.0);
  FlatParameters flat;

  Pair() { flat.add_group("unet", 1e-3, {{"down", down}, {"up", up}}); }
};

}  // namespace

TEST_CASE("parameters keep their values and become views of one buffer") {
  Pair pair;
  const ParameterGroup& group = pair.flat.groups().at(0);
  CHECK(at::equal(pair.down.detach(), at::arange(6, at::kFloat).view({2, 3})));
  CHECK(pair.down.requires_grad());
  CHECK(pair.down.is_leaf());
  CHECK(pair.flat.parameter_count() == 11);
  CHECK(group.values.numel() % 16 == 0);
  group.values.fill_(3.0);
  CHECK(pair.down.detach()[1][2].item<float>() == 3.0F);
  CHECK(pair.up.detach()[4].item<float>() == 3.0F);
  CHECK(pair.flat.value("up").data_ptr() == pair.up.data_ptr());
}

TEST_CASE("backward accumulates into the gradient buffer in place") {
  Pair pair;
  for (int i = 0; i < 2; ++i) ((pair.down * 2.0).sum() + (pair.up * pair.up).sum()).backward();
  CHECK(pair.flat.is_bound());
  CHECK(at::equal(pair.flat.gradient("down"), at::full({2, 3}, 4.0)));
  CHECK(at::equal(pair.flat.gradient("up"), at::full({5}, 8.0)));
  pair.flat.zero_gradients();
  CHECK(pair.down.grad().abs().sum().item<float>() == 0.0F);
  pair.down.sum().backward();
  CHECK(pair.flat.is_bound());
  CHECK(at::equal(pair.flat.gradient("down"), at::ones({2, 3})));
}

TEST_CASE("a half-precision parameter is trained in fp32") {
  at::Tensor weight = at::full({4}, 0.5, at::kBFloat16);
  FlatParameters flat;
  flat.add_group("all", 1.0, {{"weight", weight}});
  CHECK((weight.scalar_type() == at::kFloat));
  weight.sum().backward();
  CHECK(flat.is_bound());
  CHECK(at::equal(flat.gradient("weight"), at::ones({4})));
}

TEST_CASE("a replaced gradient is noticed") {
  Pair pair;
  pair.up.mutable_grad() = at::zeros({5});
  CHECK_FALSE(pair.flat.is_bound());
}

TEST_CASE("clipping scales all groups by one global norm") {
  Pair pair;
  at::Tensor other = at::zeros({1});
  pair.flat.add_group("text_encoder", 1e-4, {{"other", other}});
  pair.flat.groups()[0].gradients.zero_();
  pair.flat.gradient("down")[0][0].fill_(3.0);
  pair.flat.gradient("other").fill_(4.0);
  CHECK(pair.flat.gradient_norm().item<double>() == doctest::Approx(5.0));
  CHECK(pair.flat.clip_gradients(0.0).item<double>() == doctest::Approx(5.0));  // 0 only measures
  CHECK(pair.flat.gradient("other").item<double>() == 4.0);
  CHECK(pair.flat.clip_gradients(10.0).item<double>() == doctest::Approx(5.0));  // below the limit
  CHECK(pair.flat.gradient("other").item<double>() == 4.0);
  CHECK(pair.flat.clip_gradients(1.0).item<double>() == doctest::Approx(5.0));
  CHECK(pair.flat.gradient("down")[0][0].item<double>() == doctest::Approx(0.6));
  CHECK(pair.flat.gradient("other").item<double>() == doctest::Approx(0.8));
}

TEST_CASE("a norm that is not finite is reported and clips nothing") {
  Pair pair;
  pair.flat.gradient("up").fill_(1.0);
  pair.flat.gradient("down")[0][0].fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK(std::isnan(pair.flat.clip_gradients(0.5).item<double>()));
  CHECK(pair.flat.gradient("up")[0].item<float>() == 1.0F);
  pair.flat.gradient("down")[0][0].fill_(std::numeric_limits<float>::infinity());
  CHECK(std::isinf(pair.flat.clip_gradients(0.5).item<double>()));
  CHECK(pair.flat.gradient("up")[0].item<float>() == 1.0F);
}

TEST_CASE("the norm does not depend on the number of threads") {
  at::Tensor large = at::zeros({200'003});
  FlatParameters flat;
  flat.add_group("all", 1.0, {{"large", large}});
  flat.gradient("large").copy_(at::randn({200'003}));
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = flat.gradient_norm();
  at::set_num_threads(2);
  const at::Tensor two = flat.gradient_norm();
  at::set_num_threads(threads);
  CHECK(at::equal(one, two));
  CHECK(one.item<double>() ==
        doctest::Approx(flat.groups()[0].gradients.to(at::kDouble).norm().item<double>()).epsilon(1e-6));
}

TEST_CASE("an unknown name is an error") {
  Pair pair;
  CHECK_THROWS_WITH(static_cast<void>(pair.flat.value("side")), doctest::Contains("side"));
}

TEST_CASE("parameters stored in half precision are seen by layers and rounded after each change") {
  at::Tensor weight = at::full({4}, 1.001);
  FlatParameters flat;
  flat.set_stored_type(at::kHalf);
  flat.add_group("all", 1.0, {{"weight", weight}});
  CHECK((weight.scalar_type() == at::kHalf));
  CHECK(weight.is_leaf());
  const ParameterGroup& group = flat.groups().at(0);
  CHECK(at::equal(flat.value("weight"), weight.detach().to(at::kFloat)));
  (weight.to(at::kFloat) * 3.0001).sum().backward();
  CHECK(flat.is_bound());
  CHECK((weight.grad().scalar_type() == at::kHalf));
  CHECK(flat.gradient("weight")[0].item<float>() == 0.0F);
  flat.collect_gradients();
  CHECK(at::equal(flat.gradient("weight"), weight.grad().to(at::kFloat)));
  group.values.add_(1e-5);  // below half a unit of fp16 at 1: lost, as in the narrow format itself
  const at::Tensor before = weight.detach().clone();
  flat.store_values();
  CHECK(at::equal(weight.detach(), before));
  CHECK(at::equal(flat.value("weight"), before.to(at::kFloat)));
  flat.zero_gradients();
  CHECK(weight.grad().abs().sum().item<float>() == 0.0F);
}

TEST_CASE("scaled gradients are rounded to the stored type") {
  at::Tensor weight = at::ones({1});
  FlatParameters flat;
  flat.set_stored_type(at::kBFloat16);
  flat.add_group("all", 1.0, {{"weight", weight}});
  weight.sum().backward();
  flat.collect_gradients();
  flat.scale_gradients(1.001);
  CHECK(flat.gradient("weight")[0].item<float>() == 1.0F);
  flat.scale_gradients(1.01);
  CHECK(flat.gradient("weight")[0].item<float>() == 1.0078125F);
}

}  // namespace cinnabar::optim
