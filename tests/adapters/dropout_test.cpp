#include "cinnabar/adapters/dropout.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace {

using namespace cinnabar::adapters;

const StepContext kStep{.is_training = true, .seed = 5, .step = 11, .samples = {7, 8}};
const at::Tensor kLike = at::zeros({1});

}  // namespace

TEST_CASE("masks_are_the_same_for_the_same_step_and_differ_between_steps_names_and_samples") {
  const DropoutRates rates{.element = 0.5};
  const StateShape shape{{2, 9, 16}, 2};
  const at::Tensor mask = dropout_mask(kStep, "a", rates, shape, kLike);
  CHECK(mask.equal(dropout_mask(kStep, "a", rates, shape, kLike)));
  StepContext later = kStep;
  later.step = 12;
  CHECK_FALSE(mask.equal(dropout_mask(later, "a", rates, shape, kLike)));
  CHECK_FALSE(mask.equal(dropout_mask(kStep, "b", rates, shape, kLike)));
  CHECK_FALSE(mask[0].equal(mask[1]));
}

TEST_CASE("a_sample_has_the_same_mask_in_every_batch") {
  const DropoutRates rates{.element = 0.3, .rank = 0.2};
  const at::Tensor both = dropout_mask(kStep, "a", rates, {{2, 9, 16}, 2}, kLike);
  StepContext alone = kStep;
  alone.samples = {8};
  CHECK(both.narrow(0, 1, 1).equal(dropout_mask(alone, "a", rates, {{1, 9, 16}, 2}, kLike)));
}

TEST_CASE("kept_numbers_make_up_for_dropped_ones") {
  const at::Tensor mask = dropout_mask(kStep, "a", {.element = 0.25}, {{2, 500, 16}, 2}, kLike);
  CHECK(mask.max().item<double>() == doctest::Approx(1.0 / 0.75));
  CHECK(mask.min().item<double>() == 0.0);
  CHECK(mask.mean().item<double>() == doctest::Approx(1.0).epsilon(0.03));  // 16,000 draws: 4 sigma = 0.018
}

TEST_CASE("rank_dropout_takes_whole_ranks_of_a_sample") {
  const at::Tensor linear = dropout_mask(kStep, "a", {.rank = 0.5}, {{2, 7, 32}, 2}, kLike);
  CHECK(linear.equal(linear.narrow(1, 0, 1).expand_as(linear)));
  CHECK(linear.min().item<double>() == 0.0);
  CHECK(linear.max().item<double>() == doctest::Approx(2.0));
  const at::Tensor conv = dropout_mask(kStep, "a", {.rank = 0.5}, {{2, 32, 3, 4}, 1}, kLike);
  CHECK(conv.equal(conv.narrow(2, 0, 1).narrow(3, 0, 1).expand_as(conv)));
  CHECK(conv.min().item<double>() == 0.0);
}

TEST_CASE("text_chunks_of_a_sample_are_rows_of_their_own") {
  const at::Tensor mask = dropout_mask(kStep, "a", {.element = 0.5}, {{4, 9, 16}, 2}, kLike);
  CHECK_FALSE(mask[0].equal(mask[1]));
  CHECK_THROWS_AS(dropout_mask(kStep, "a", {.element = 0.5}, {{3, 9, 16}, 2}, kLike), cinnabar::base::Error);
}

TEST_CASE("nothing_is_dropped_outside_of_training") {
  StepContext preview = kStep;
  preview.is_training = false;
  CHECK_FALSE(dropout_mask(preview, "a", {.element = 0.5}, {{2, 9, 16}, 2}, kLike).defined());
  CHECK_FALSE(is_module_dropped(preview, "a", {.module = 1.0}));
  CHECK(is_module_dropped(kStep, "a", {.module = 1.0}));
  CHECK_FALSE(is_module_dropped(kStep, "a", {}));
}

TEST_CASE("modules_are_dropped_at_their_rate") {
  StepContext step = kStep;
  int dropped = 0;
  for (step.step = 0; step.step < 4000; ++step.step) dropped += is_module_dropped(step, "a", {.module = 0.3}) ? 1 : 0;
  CHECK(dropped == doctest::Approx(1200).epsilon(0.1));  // 4 sigma = 116
}
