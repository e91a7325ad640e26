#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"
#include "cinnabar/loss/element_loss.h"
#include "cinnabar/loss/huber_threshold.h"
#include "cinnabar/loss/loss_mask.h"

namespace cinnabar::loss {

namespace {

double loss_of(const char* name, double difference, double threshold) {
  const at::Tensor prediction = at::full({1, 1}, difference, at::kDouble);
  const at::Tensor target = at::zeros({1, 1}, at::kDouble);
  return element_losses().at(name).apply(prediction, target, at::full({1, 1}, threshold, at::kDouble)).item<double>();
}

}  // namespace

TEST_CASE("l1 and l2 are the absolute and the squared difference") {
  CHECK(loss_of("l2", -3.0, 0.1) == doctest::Approx(9.0));
  CHECK(loss_of("l1", -3.0, 0.1) == doctest::Approx(3.0));
}

TEST_CASE("huber is l2 for small differences, smooth_l1 is twice l1 for large ones") {
  CHECK(loss_of("huber", 1e-3, 1.0) == doctest::Approx(1e-6));
  CHECK(loss_of("huber", 1e4, 0.1) == doctest::Approx(2.0 * 0.1 * 1e4).epsilon(1e-4));
  CHECK(loss_of("smooth_l1", 1e4, 0.1) == doctest::Approx(2.0 * 1e4).epsilon(1e-4));
  CHECK(loss_of("smooth_l1", 1e-3, 1.0) == doctest::Approx(1e-6));
}

TEST_CASE("the threshold follows its schedule") {
  const at::Tensor timesteps = at::tensor({0, 1000}, at::kLong);
  const at::Tensor shares = at::tensor({1.0F, 1e-8F});
  const at::Tensor constant = huber_threshold({.c = 0.2, .scale = 3.0, .schedule = "constant"}, timesteps, {});
  CHECK(constant[1].item<double>() == doctest::Approx(0.6));
  const at::Tensor exponential = huber_threshold({.c = 0.2, .scale = 1.0, .schedule = "exponential"}, timesteps, {});
  CHECK(exponential[0].item<double>() == doctest::Approx(1.0));
  CHECK(exponential[1].item<double>() == doctest::Approx(0.2));
  const at::Tensor snr = huber_threshold({.c = 0.2, .scale = 9.0, .schedule = "snr"}, timesteps, shares);
  CHECK(snr[0].item<double>() == doctest::Approx(1.0));
  CHECK(snr[1].item<double>() == doctest::Approx(0.2).epsilon(1e-3));
  CHECK_THROWS_WITH_AS(huber_threshold({}, timesteps, {}), doctest::Contains("flow model"), base::Error);
}

TEST_CASE("a mask is averaged down to the size of the loss") {
  const at::Tensor loss = at::ones({1, 2, 2, 2});
  at::Tensor mask = at::zeros({1, 4, 4});
  mask[0][0][0] = 1.0;  // a quarter of the first cell
  const at::Tensor masked = apply_mask(loss, mask);
  CHECK(masked[0][0][0][0].item<double>() == doctest::Approx(0.25));
  CHECK(masked[0][1][0][0].item<double>() == doctest::Approx(0.25));
  CHECK(masked.sum().item<double>() == doctest::Approx(0.5));
  CHECK(mask_from_conditioning(at::full({1, 3, 1, 1}, -1.0)).item<double>() == 0.0);
}

}  // namespace cinnabar::loss
