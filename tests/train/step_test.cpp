#include "cinnabar/train/step.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace {

using namespace cinnabar;

// Predicts `gain` times the noisy latents and remembers what it was given.
class FakeModel : public models::DiffusionModel {
 public:
  explicit FakeModel(models::Objective objective) {
    info_.objective = objective;
    info_.latent_scale = 0.5;
    info_.latent_shift = 0.25;
  }
  const models::ModelInfo& info() const override { return info_; }
  models::Tokens tokenize(const std::vector<std::string>&, const models::TextOptions&) const override { return {}; }
  models::Conditioning encode_text(const models::Tokens&, const models::TextOptions&) override { return {}; }
  at::Tensor encode_moments(const at::Tensor& pixels) override { return pixels; }
  at::Tensor decode(const at::Tensor& latents) override { return latents; }
  at::Tensor predict(const at::Tensor& noisy, const at::Tensor&, const models::Conditioning&) override {
    seen = noisy;
    return noisy * gain;
  }
  std::vector<models::ModelPart> parts() override { return {}; }
  std::vector<models::AdapterTarget> adapter_targets() override { return {}; }
  void release(const std::string&) override {}
  nn::Module& vae() override { throw base::Error(base::ErrorCode::Internal, "no autoencoder"); }
  std::optional<models::ModelPart> vae_part() override { return std::nullopt; }

  at::Tensor gain = at::full({}, 0.5).requires_grad_(true);
  at::Tensor seen;

 private:
  models::ModelInfo info_;
};

train::StepInputs batch() {
  const at::Tensor ramp = at::linspace(-1.0, 2.0, 2 * 4 * 2 * 4).reshape({2, 4, 2, 4});
  return {
      .latents = ramp, .noise = ramp.sin() + 0.1, .timesteps = at::tensor({10, 900}, at::kLong), .conditioning = {}};
}

double number(const at::Tensor& value) { return value.item<double>(); }

at::Tensor squares(const at::Tensor& a, const at::Tensor& b) { return (a - b).pow(2).flatten(1).mean(1); }

}  // namespace

TEST_CASE("epsilon_models_are_held_to_the_noise") {
  FakeModel model(models::Objective::Epsilon);
  const train::TrainingStep step(model, {});
  const train::StepInputs inputs = batch();
  const train::StepLoss loss = step.run(inputs);
  const at::Tensor noisy = step.table().add_noise(inputs.latents, inputs.noise, inputs.timesteps);
  const at::Tensor expected = squares(noisy * 0.5, inputs.noise);
  CHECK(model.seen.equal(noisy));
  CHECK((loss.per_sample - expected).abs().max().item<double>() < 1e-6);
  CHECK(number(loss.mean) == doctest::Approx(number(expected.mean())));
  loss.mean.backward();
  CHECK(number(model.gain.grad()) != 0.0);
}

TEST_CASE("velocity_models_are_held_to_the_velocity_of_the_plain_noise") {
  FakeModel model(models::Objective::Velocity);
  const train::TrainingStep step(model, {});
  train::StepInputs inputs = batch();
  inputs.input_noise = inputs.noise + 0.3;
  const train::StepLoss loss = step.run(inputs);
  const at::Tensor noisy = step.table().add_noise(inputs.latents, inputs.input_noise, inputs.timesteps);
  const at::Tensor target = step.table().velocity(inputs.latents, inputs.noise, inputs.timesteps);
  CHECK((loss.per_sample - squares(noisy * 0.5, target)).abs().max().item<double>() < 1e-6);
}

TEST_CASE("mask_and_weights_act_per_sample") {
  FakeModel model(models::Objective::Epsilon);
  schema::Values values;
  values.set("min_snr_gamma", 5.0);
  const train::TrainingStep plain(model, {});
  const train::TrainingStep weighted(model, values);
  train::StepInputs inputs = batch();
  const at::Tensor base = plain.run(inputs).per_sample;
  inputs.mask = at::cat({at::zeros({1, 16, 32}), at::ones({1, 16, 32})});
  inputs.loss_weights = at::tensor({1.0F, 0.7F});
  const at::Tensor snr = plain.table().snr().index_select(0, inputs.timesteps);
  const at::Tensor found = weighted.run(inputs).per_sample;
  CHECK(number(found[0]) == 0.0);
  const double factor = 0.7 * std::min(number(snr[1]), 5.0) / number(snr[1]);
  CHECK(number(found[1]) == doctest::Approx(number(base[1]) * factor));
}

TEST_CASE("latents_are_shifted_then_scaled") {
  FakeModel model(models::Objective::Epsilon);
  const train::TrainingStep step(model, {});
  CHECK(number(step.scaled(at::full({1}, 2.25))) == doctest::Approx(1.0));
}

TEST_CASE("zero_terminal_snr_leaves_no_signal_in_the_last_step") {
  FakeModel model(models::Objective::Velocity);
  schema::Values values;
  values.set("zero_terminal_snr", true);
  const train::TrainingStep step(model, values);
  CHECK(number(step.table().alphas_cumprod()[-1]) == doctest::Approx(0.0));
}

TEST_CASE("flow_models_are_refused") {
  FakeModel model(models::Objective::Flow);
  CHECK_THROWS_AS(train::TrainingStep(model, {}), base::Error);
}
