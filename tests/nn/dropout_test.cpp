#include "cinnabar/nn/dropout.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace cinnabar::nn {

TEST_CASE("masks are a function of key, layer and sample, whatever the batch") {
  at::Tensor both;
  {
    const DropoutScope scope(DropoutKey{.seed = 1, .step = 5, .samples = {10, 11}});
    both = keyed_mask({2, 3, 40}, 0.5, 77);
    CHECK(at::equal(both, keyed_mask({2, 3, 40}, 0.5, 77)));
    CHECK_FALSE(at::equal(both, keyed_mask({2, 3, 40}, 0.5, 78)));
    CHECK_FALSE(at::equal(both, keyed_mask({2, 3, 40}, 0.5, 77, 1)));
    CHECK_FALSE(at::equal(both[0], both[1]));
  }
  {
    const DropoutScope scope(DropoutKey{.seed = 1, .step = 5, .samples = {11}});
    CHECK(at::equal(keyed_mask({1, 3, 40}, 0.5, 77)[0], both[1]));
  }
  const DropoutScope scope(DropoutKey{.seed = 1, .step = 6, .samples = {10, 11}});
  CHECK_FALSE(at::equal(both, keyed_mask({2, 3, 40}, 0.5, 77)));
}

TEST_CASE("several rows of one sample draw apart") {
  const DropoutScope scope(DropoutKey{.seed = 1, .samples = {3, 4}});
  const at::Tensor mask = keyed_mask({4, 50}, 0.5, 1);  // two chunks a sample
  CHECK_FALSE(at::equal(mask[0], mask[1]));
}

TEST_CASE("the kept share and the scale are right") {
  const DropoutScope scope(DropoutKey{.seed = 2});
  const at::Tensor y = keyed_dropout(at::ones({1, 100'000}), 0.25, 9);
  // 100,000 draws: deviation of the share 0.0014.
  CHECK(y.ne(0).to(at::kFloat).mean().item<double>() == doctest::Approx(0.75).epsilon(0.01));
  CHECK(y.max().item<double>() == doctest::Approx(1.0 / 0.75));
  CHECK(keyed_dropout(at::ones({1, 4}), 1.0, 9).abs().sum().item<double>() == 0.0);
}

TEST_CASE("scopes nest, and dropout outside of one is an error") {
  CHECK(current_dropout_key() == nullptr);
  CHECK_THROWS_AS(keyed_uniforms(1, 1), base::Error);
  {
    const DropoutScope outer(DropoutKey{.step = 1});
    {
      const DropoutScope inner(DropoutKey{.step = 2});
      CHECK(current_dropout_key()->step == 2);
    }
    CHECK(current_dropout_key()->step == 1);
  }
  CHECK(current_dropout_key() == nullptr);
}

}  // namespace cinnabar::nn
