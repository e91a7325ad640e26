#include "cinnabar/nn/clip_text.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/initial_values.h"

namespace cinnabar::nn {

namespace {

constexpr ClipTextConfig kSmall{
    .vocabulary = 20, .positions = 9, .width = 8, .layers = 2, .heads = 2, .feed_width = 16};

}  // namespace

TEST_CASE("a state knows nothing of later tokens") {
  ClipText text(kSmall);
  set_initial_values(text, "", 1);
  const at::NoGradGuard no_gradients;
  at::Tensor ids = at::arange(9, at::kLong).unsqueeze(0);
  const at::Tensor before = text.state_after(ids, 2);
  ids[0][6] = 15;
  const at::Tensor after = text.state_after(ids, 2);
  CHECK(at::equal(before.slice(1, 0, 6), after.slice(1, 0, 6)));
  CHECK_FALSE(at::allclose(before.slice(1, 6), after.slice(1, 6)));
}

TEST_CASE("the list of states agrees with single ones, and bf16 runs") {
  ClipText text(kSmall);
  set_initial_values(text, "", 1);
  const at::NoGradGuard no_gradients;
  const at::Tensor ids = at::arange(9, at::kLong).unsqueeze(0);
  const std::vector<at::Tensor> states = text.hidden_states(ids);
  REQUIRE(states.size() == 3);
  for (int64_t i = 0; i < 3; ++i) CHECK(at::equal(states[static_cast<size_t>(i)], text.state_after(ids, i)));
  text.to(at::kBFloat16);
  CHECK((text.final_norm(text.state_after(ids, 2)).scalar_type() == at::kBFloat16));
}

TEST_CASE("pooling takes the first end token, or the first state") {
  const at::Tensor ids = at::tensor({1, 7, 7, 1, 2, 3}, at::kLong).view({2, 3});
  const at::Tensor state = at::arange(6, at::kFloat).view({2, 3, 1});
  const at::Tensor pooled = pool_at_end(state, ids, 7);
  CHECK(pooled[0][0].item<float>() == 1.0F);
  CHECK(pooled[1][0].item<float>() == 3.0F);
}

TEST_CASE("unknown activations are refused by name") {
  CHECK_THROWS_WITH_AS(activation_from("relu6"), doctest::Contains("relu6"), base::Error);
}

}  // namespace cinnabar::nn
