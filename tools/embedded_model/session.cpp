#include "session.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::embedded {

Session::Session(std::vector<std::pair<std::string, at::Tensor*>> parameters, const SessionOptions& options)
    : options_(options), flat_(std::make_unique<optim::FlatParameters>()) {
  optim::NamedTensors named;
  for (const auto& [name, value] : parameters) named.emplace_back(name, *value);
  flat_->add_group("all", options.lr, named);
  const std::vector<std::string> arguments = {
      "betas=" + std::to_string(options.beta1) + "," + std::to_string(options.beta2),
      "weight_decay=" + std::to_string(options.weight_decay)};
  optimizer_ = optim::make_optimizer("AdamW", arguments, *flat_);
  average_ = flat_->groups().front().values.detach().clone();
}

Session::~Session() = default;

double Session::rate(int64_t step) const {
  if (step < options_.warmup) return options_.lr * static_cast<double>(step + 1) / static_cast<double>(options_.warmup);
  const double constant_end = options_.constant_share * static_cast<double>(options_.steps);
  const double start = std::max(constant_end, static_cast<double>(options_.warmup));
  const double progress = (static_cast<double>(step) - start) / (static_cast<double>(options_.steps) - start);
  if (progress <= 0) return options_.lr;
  return options_.lr * (options_.floor + (1 - options_.floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

double Session::step() {
  const at::NoGradGuard no_grad;
  const double norm = flat_->clip_gradients(1.0).item<double>();
  const double rates[] = {rate(done_)};
  if (std::isfinite(norm)) optimizer_->step(rates);
  const double done = static_cast<double>(done_);
  const double keep = std::min(options_.ema, (done + 1) / (done + 10));
  average_.lerp_(flat_->groups().front().values, 1 - keep);
  flat_->zero_gradients();
  ++done_;
  return norm;
}

void Session::swap_average() {
  const at::NoGradGuard no_grad;
  const at::Tensor values = flat_->groups().front().values;
  const at::Tensor kept = values.clone();
  values.copy_(average_);
  average_ = kept;
}

std::vector<std::pair<std::string, at::Tensor*>> trainable(nn::Module& module, const std::string& prefix) {
  std::vector<std::pair<std::string, at::Tensor*>> result;
  module.each_parameter(prefix, [&](const std::string& name, at::Tensor& value) { result.emplace_back(name, &value); });
  return result;
}

void save_model(models::DiffusionModel& model, const std::filesystem::path& path, at::ScalarType dtype) {
  std::vector<formats::NamedTensor> tensors;
  std::vector<at::Tensor> kept;
  for (const auto& [name, value] : models::state_tensors(model)) {
    kept.push_back(value.detach().to(dtype).contiguous());
    tensors.push_back({name, tensor::view_of(kept.back())});
  }
  formats::write_safetensors(path, std::move(tensors),
                             {{"format", "pt"},
                              {"modelspec.sai_model_spec", "1.0.1"},
                              {"modelspec.architecture", "stable-diffusion-v1"},
                              {"modelspec.implementation", "https://github.com/Stability-AI/generative-models"},
                              {"modelspec.title", "Cinnabar embedded model"},
                              {"modelspec.prediction_type", "v"},
                              {"modelspec.resolution", "64x64"},
                              {"modelspec.license", "Apache-2.0; trained on Noto Color Emoji (SIL OFL 1.1)"}});
}

}  // namespace cinnabar::embedded
