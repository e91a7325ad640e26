#include "cinnabar/train/finite_check.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <limits>

#include "cinnabar/base/error.h"

using namespace cinnabar;

TEST_CASE("the first tensor that is not finite is named") {
  optim::FlatParameters parameters;
  parameters.add_group("unet", 1e-3, {{"down", at::ones({3, 2})}, {"up", at::ones({5})}});
  CHECK(train::first_bad_value(parameters).empty());
  CHECK(train::first_bad_gradient(parameters).empty());
  parameters.gradient("up").fill_(std::numeric_limits<double>::infinity());
  CHECK(train::first_bad_gradient(parameters) == "up");
  CHECK(train::first_bad_value(parameters).empty());
  parameters.value("down").select(0, 1).fill_(std::numeric_limits<double>::quiet_NaN());
  CHECK(train::first_bad_value(parameters) == "down");
}

TEST_CASE("what is not finite does not reach a file") {
  CHECK_NOTHROW(train::check_finite({{"a", at::ones({2})}, {"count", at::zeros({1}, at::kLong)}}, "out/x"));
  const at::Tensor bad = at::full({2}, std::numeric_limits<double>::infinity());
  CHECK_THROWS_WITH_AS(train::check_finite({{"a", at::ones({2})}, {"b", bad}}, "out/x.safetensors"),
                       doctest::Contains("out/x.safetensors is not written"), base::Error);
  CHECK_THROWS_WITH_AS(train::check_finite({{"b", at::full({1}, 1e6).to(at::kHalf)}}, "x", true),
                       doctest::Contains("b has values that do not fit the type of the file"), base::Error);
}
