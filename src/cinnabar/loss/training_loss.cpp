#ifdef CINNABAR_ENGINE

#include "cinnabar/loss/training_loss.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "cinnabar/loss/entry.h"
#include "cinnabar/loss/loss_mask.h"

namespace cinnabar::loss {

namespace {

// Value of the option that switches a weight on; 0 when it is off.
double switch_value(const schema::Values& values, const std::string& name) {
  if (std::holds_alternative<bool>(values.raw(name))) return values.flag(name) ? 1.0 : 0.0;
  return values.maybe_number(name).value_or(0.0);
}

std::vector<std::string> weight_names_in_order() {
  std::vector<std::string> names = sample_weights().names();
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return weight_entries().at(a).order < weight_entries().at(b).order;
  });
  return names;
}

void check_prediction_type(const std::string& name, const SampleWeight& weight, const LossTables& tables) {
  if (weight.needs_velocity && !tables.is_velocity) {
    throw base::Error(base::ErrorCode::Config,
                      name +
                          " is only for models that predict v, and this one predicts the noise: "
                          "leave it out, or set v_parameterization if the model was trained so");
  }
  if (weight.refuses_velocity && tables.is_velocity) {
    throw base::Error(base::ErrorCode::Config,
                      name + " is only for models that predict the noise, and this one predicts v: leave it out");
  }
}

at::Tensor at_timesteps(const at::Tensor& table, const at::Tensor& timesteps, at::Device device) {
  return table.index_select(0, timesteps.to(table.device(), at::kLong)).to(device);
}

}  // namespace

TrainingLoss::TrainingLoss(const schema::Values& values, LossTables tables)
    : tables_(std::move(tables)),
      element_(&element_losses().at(values.maybe_text("loss_type").value_or("l2"))),
      huber_(huber_options_from(values)),
      is_mask_normalised_(values.flag("masked_loss_normalize")) {
  const bool is_flow = !tables_.snr.defined();
  for (const std::string& name : weight_names_in_order()) {
    const double value = switch_value(values, name);
    if (value == 0.0) continue;
    if (is_flow) {
      throw base::Error(base::ErrorCode::Config,
                        name + " needs a model with a noise table, and this is a flow model: leave it out");
    }
    check_prediction_type(name, sample_weights().at(name), tables_);
    weights_.push_back({&sample_weights().at(name), value});
  }
  // Asked here and not at the first step, so that a wrong pair of model and schedule is found at once.
  if (element_->has_threshold) {
    const at::Tensor first = at::zeros({1}, at::kLong);
    huber_threshold(huber_, first, is_flow ? at::Tensor() : at_timesteps(tables_.alphas_cumprod, first, at::kCPU));
  }
}

at::Tensor TrainingLoss::per_sample(const LossBatch& batch) const {
  const at::Device device = batch.prediction.device();
  const at::Tensor prediction = batch.prediction.to(at::kFloat);
  at::Tensor threshold;
  if (element_->has_threshold) {
    const at::Tensor alphas =
        tables_.alphas_cumprod.defined() ? at_timesteps(tables_.alphas_cumprod, batch.timesteps, device) : at::Tensor();
    std::vector<int64_t> shape(static_cast<size_t>(prediction.dim()), 1);
    shape[0] = prediction.size(0);
    threshold = huber_threshold(huber_, batch.timesteps.to(device), alphas).view(shape);
  }
  at::Tensor loss = element_->apply(prediction, batch.target.to(device, at::kFloat), threshold);
  if (batch.mask.defined()) loss = apply_mask(loss, batch.mask, is_mask_normalised_);
  loss = loss.flatten(1).mean(1);  // [B]
  if (batch.sample_weights.defined()) loss = loss * batch.sample_weights.to(device, at::kFloat);
  if (weights_.empty()) return loss;
  const at::Tensor snr = at_timesteps(tables_.snr, batch.timesteps, device);
  for (const ActiveWeight& active : weights_) {
    loss = active.weight->apply(loss, {.snr = snr, .value = active.value, .is_velocity = tables_.is_velocity});
  }
  return loss;
}

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
