#include "cinnabar/train/step.h"

#include <ATen/ATen.h>

namespace cinnabar::train {

namespace {

bool is_velocity(const models::DiffusionModel& model) { return model.info().objective == models::Objective::Velocity; }

noise::DiffusionTable make_table(const models::DiffusionModel& model, const schema::Values& values) {
  if (model.info().objective == models::Objective::Flow) {
    throw base::Error(base::ErrorCode::Config,
                      "models of the family " + model.info().family +
                          " are trained by flow matching, which this version cannot do: use a model "
                          "that predicts the noise or v");
  }
  return noise::DiffusionTable(
      {.zero_terminal_snr = values.flag("zero_terminal_snr") || model.info().zero_terminal_snr});
}

loss::LossTables loss_tables(const noise::DiffusionTable& table, bool is_velocity) {
  return {.alphas_cumprod = table.alphas_cumprod(), .snr = table.snr(), .is_velocity = is_velocity};
}

}  // namespace

TrainingStep::TrainingStep(models::DiffusionModel& model, const schema::Values& values)
    : model_(model), table_(make_table(model, values)), loss_(values, loss_tables(table_, is_velocity(model))) {}

void TrainingStep::to(at::Device device) { table_.to(device); }

at::Tensor TrainingStep::scaled(const at::Tensor& latents) const {
  const models::ModelInfo& info = model_.info();
  return (info.latent_shift == 0.0 ? latents : latents - info.latent_shift) * info.latent_scale;
}

StepLoss TrainingStep::run(const StepInputs& inputs) const {
  const at::Tensor& input_noise = inputs.input_noise.defined() ? inputs.input_noise : inputs.noise;
  const at::Tensor noisy = table_.add_noise(inputs.latents, input_noise, inputs.timesteps);
  const at::Tensor prediction = model_.predict(noisy, inputs.timesteps, inputs.conditioning);
  const at::Tensor target =
      is_velocity(model_) ? table_.velocity(inputs.latents, inputs.noise, inputs.timesteps) : inputs.noise;
  const at::Tensor losses = loss_.per_sample({.prediction = prediction,
                                              .target = target,
                                              .timesteps = inputs.timesteps,
                                              .mask = inputs.mask,
                                              .sample_weights = inputs.loss_weights});
  return {.mean = losses.mean(), .per_sample = losses.detach()};
}

}  // namespace cinnabar::train
