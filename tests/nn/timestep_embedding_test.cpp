#include "cinnabar/nn/timestep_embedding.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

namespace cinnabar::nn {

TEST_CASE("cosines come first, at rates from 1 down to nearly 1/10000") {
  const at::Tensor found = timestep_embedding(at::tensor({0, 7}, at::kLong), 8);
  CHECK(found.sizes() == at::IntArrayRef({2, 8}));
  CHECK((found.scalar_type() == at::kFloat));
  for (int i = 0; i < 4; ++i) {
    const double rate = std::pow(10000.0, -i / 4.0);
    CHECK(found[0][i].item<double>() == 1.0);
    CHECK(found[0][4 + i].item<double>() == 0.0);
    CHECK(found[1][i].item<double>() == doctest::Approx(std::cos(7 * rate)).epsilon(1e-5));
    CHECK(found[1][4 + i].item<double>() == doctest::Approx(std::sin(7 * rate)).epsilon(1e-5));
  }
}

}  // namespace cinnabar::nn
