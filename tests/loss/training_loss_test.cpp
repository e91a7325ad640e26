#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/loss/training_loss.h"

namespace cinnabar::loss {

namespace {

// SNR 1, 4, 9 of a table of three steps.
LossTables tables(bool is_velocity) {
  const at::Tensor snr = at::tensor({9.0F, 4.0F, 1.0F});
  return {.alphas_cumprod = snr / (snr + 1.0), .snr = snr, .is_velocity = is_velocity};
}

schema::Values values_with(const char* name, schema::Value value) {
  schema::Values values;
  values.set(name, std::move(value));
  return values;
}

LossBatch batch_of_ones() {
  return {.prediction = at::ones({3, 4, 2, 2}),
          .target = at::zeros({3, 4, 2, 2}),
          .timesteps = at::tensor({0, 1, 2}, at::kLong)};
}

void check_losses(const at::Tensor& found, const std::vector<double>& expected) {
  REQUIRE(found.size(0) == static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(found[static_cast<int64_t>(i)].item<double>() == doctest::Approx(expected[i]));
  }
}

}  // namespace

TEST_CASE("weights change each sample by its own SNR") {
  check_losses(TrainingLoss({}, tables(false)).per_sample(batch_of_ones()), {1.0, 1.0, 1.0});
  const auto gamma = values_with("min_snr_gamma", 5.0);
  check_losses(TrainingLoss(gamma, tables(false)).per_sample(batch_of_ones()), {5.0 / 9.0, 1.0, 1.0});
  check_losses(TrainingLoss(gamma, tables(true)).per_sample(batch_of_ones()), {0.5, 0.8, 0.5});
  const auto debiased = values_with("debiased_estimation_loss", true);
  check_losses(TrainingLoss(debiased, tables(false)).per_sample(batch_of_ones()), {1.0 / 3.0, 0.5, 1.0});
  check_losses(TrainingLoss(values_with("v_pred_like_loss", 0.5), tables(false)).per_sample(batch_of_ones()),
               {1.0 + 0.5 * 10.0 / 9.0, 1.0 + 0.5 * 1.25, 2.0});
}

TEST_CASE("v models have weights of their own") {
  const auto scaled = values_with("scale_v_pred_loss_like_noise_pred", true);
  check_losses(TrainingLoss(scaled, tables(true)).per_sample(batch_of_ones()), {0.9, 0.8, 0.5});
  const auto debiased = values_with("debiased_estimation_loss", true);
  check_losses(TrainingLoss(debiased, tables(true)).per_sample(batch_of_ones()), {0.1, 0.2, 0.5});
}

TEST_CASE("weights count an SNR of 1000 at most, min_snr_gamma the whole one") {
  const at::Tensor snr = at::tensor({4000.0F});
  const LossTables clean{.alphas_cumprod = snr / (snr + 1.0), .snr = snr, .is_velocity = false};
  const LossBatch batch{
      .prediction = at::ones({1, 4, 2, 2}), .target = at::zeros({1, 4, 2, 2}), .timesteps = at::tensor({0}, at::kLong)};
  check_losses(TrainingLoss(values_with("debiased_estimation_loss", true), clean).per_sample(batch),
               {1.0 / std::sqrt(1000.0)});
  check_losses(TrainingLoss(values_with("min_snr_gamma", 5.0), clean).per_sample(batch), {5.0 / 4000.0});
}

TEST_CASE("huber_c, huber_schedule and huber_scale reach the threshold of the loss") {
  schema::Values values = values_with("loss_type", std::string("smooth_l1"));
  const auto loss = [&](double c, const char* schedule, double scale) {
    values.set("huber_c", c);
    values.set("huber_schedule", std::string(schedule));
    values.set("huber_scale", scale);
    return TrainingLoss(values, tables(false)).per_sample(batch_of_ones())[2].item<double>();
  };
  const auto expected = [](double threshold) { return 2.0 * (std::sqrt(1.0 + threshold * threshold) - threshold); };
  CHECK(loss(0.3, "constant", 2.0) == doctest::Approx(expected(0.6)));
  CHECK(loss(0.3, "exponential", 2.0) == doctest::Approx(expected(2.0 * std::exp(std::log(0.3) * 2.0 / 1000.0))));
  // sigma 1 at an SNR of 1; the scale has no influence.
  CHECK(loss(0.3, "snr", 2.0) == doctest::Approx(expected(0.7 / 4.0 + 0.3)));
}

TEST_CASE("weights given together all count") {
  schema::Values values = values_with("min_snr_gamma", 5.0);
  values.set("debiased_estimation_loss", true);
  check_losses(TrainingLoss(values, tables(false)).per_sample(batch_of_ones()), {5.0 / 27.0, 0.5, 1.0});
}

TEST_CASE("a value of 0 and a false flag leave weights off") {
  schema::Values values = values_with("min_snr_gamma", 0.0);
  values.set("scale_v_pred_loss_like_noise_pred", false);
  check_losses(TrainingLoss(values, tables(false)).per_sample(batch_of_ones()), {1.0, 1.0, 1.0});
}

TEST_CASE("weights that do not fit the model are refused") {
  CHECK_THROWS_WITH_AS(TrainingLoss(values_with("scale_v_pred_loss_like_noise_pred", true), tables(false)),
                       doctest::Contains("only for models that predict v"), base::Error);
  CHECK_THROWS_WITH_AS(TrainingLoss(values_with("v_pred_like_loss", 1.0), tables(true)),
                       doctest::Contains("predicts v"), base::Error);
  CHECK_THROWS_WITH_AS(TrainingLoss(values_with("min_snr_gamma", 5.0), {}), doctest::Contains("flow model"),
                       base::Error);
  CHECK_THROWS_WITH_AS(TrainingLoss(values_with("loss_type", std::string("huber")), {}),
                       doctest::Contains("flow model"), base::Error);
  CHECK_THROWS_WITH_AS(TrainingLoss(values_with("loss_type", std::string("hubr")), tables(false)),
                       doctest::Contains("did you mean \"huber\"?"), base::Error);
}

TEST_CASE("masks and sample weights scale the loss without renormalising") {
  LossBatch batch = batch_of_ones();
  batch.mask = at::zeros({3, 4, 4});
  batch.mask[1].fill_(1.0);
  batch.mask[2].narrow(0, 0, 2).fill_(1.0);
  batch.sample_weights = at::tensor({1.0F, 0.5F, 1.0F});
  check_losses(TrainingLoss({}, tables(false)).per_sample(batch), {0.0, 0.5, 0.5});
}

TEST_CASE("normalised masks count what is not masked in full, and an empty mask not at all") {
  LossBatch batch = batch_of_ones();
  batch.prediction[2].narrow(1, 0, 1).fill_(3.0);  // upper row: a loss of 9
  batch.mask = at::zeros({3, 4, 4});
  batch.mask[1].fill_(0.5);
  batch.mask[2].narrow(0, 0, 2).fill_(1.0);
  check_losses(TrainingLoss(values_with("masked_loss_normalize", true), tables(false)).per_sample(batch),
               {0.0, 1.0, 9.0});
  check_losses(TrainingLoss({}, tables(false)).per_sample(batch), {0.0, 0.5, 4.5});
}

TEST_CASE("half-precision predictions are compared in fp32 and pass gradients back") {
  LossBatch batch = batch_of_ones();
  batch.prediction = at::full({3, 4, 2, 2}, 1.001, at::kBFloat16).requires_grad_(true);
  const at::Tensor loss = TrainingLoss({}, tables(false)).per_sample(batch);
  CHECK((loss.scalar_type() == at::kFloat));
  loss.mean().backward();
  CHECK(batch.prediction.grad().defined());
  CHECK(batch.prediction.grad().abs().sum().item<double>() > 0.0);
}

}  // namespace cinnabar::loss
