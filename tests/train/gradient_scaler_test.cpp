#include "cinnabar/train/gradient_scaler.h"

#include <limits>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace {

using namespace cinnabar;

}  // namespace

TEST_CASE("the_loss_scale_starts_at_65536_and_halves_at_each_overflow") {
  train::GradientScaler scaler(true);
  CHECK(scaler.scale() == 65536.0);
  scaler.update(true);
  scaler.update(true);
  CHECK(scaler.scale() == 16384.0);
}

TEST_CASE("the_loss_scale_doubles_after_2000_good_steps_in_succession") {
  train::GradientScaler scaler(true);
  for (int i = 0; i < 1999; ++i) scaler.update(false);
  CHECK(scaler.scale() == 65536.0);
  scaler.update(true);
  for (int i = 0; i < 1999; ++i) scaler.update(false);
  CHECK(scaler.scale() == 32768.0);
  scaler.update(false);
  CHECK(scaler.scale() == 65536.0);
  CHECK(scaler.state() == train::GradientScalerState{65536.0, 0});
}

TEST_CASE("the_loss_scale_stays_a_finite_fp32_number") {
  train::GradientScaler scaler(true, {.growth_factor = 1e30, .growth_interval_steps = 1});
  scaler.update(false);
  const double grown = scaler.scale();
  scaler.update(false);
  CHECK(scaler.scale() == grown);
}

TEST_CASE("unscaling_gives_the_gradient_of_the_plain_loss") {
  const at::Tensor weight = at::tensor({1.0F, -2.0F}).requires_grad_(true);
  optim::FlatParameters parameters;
  parameters.add_group("unet", 1.0, {{"weight", weight}});
  const train::GradientScaler scaler(true);
  scaler.scaled((weight * weight).sum()).backward();
  CHECK(parameters.gradient("weight")[0].item<double>() == 2.0 * 65536.0);
  scaler.unscale(parameters);
  CHECK(parameters.gradient("weight").equal(at::tensor({2.0F, -4.0F})));
}

TEST_CASE("a_scaler_that_is_off_changes_nothing") {
  train::GradientScaler scaler(false);
  const at::Tensor loss = at::tensor(3.0F);
  CHECK(scaler.scaled(loss).is_same(loss));
  scaler.update(true);
  CHECK(scaler.scale() == 1.0);
}

TEST_CASE("a_restored_scaler_goes_on_where_it_was") {
  train::GradientScaler first(true);
  first.update(true);
  first.update(false);
  train::GradientScaler second(true);
  second.restore(first.state());
  CHECK(second.state() == first.state());
  CHECK_THROWS_AS(second.restore({.scale = std::numeric_limits<double>::infinity()}), base::Error);
  CHECK(second.state() == first.state());
}
