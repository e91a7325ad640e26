#include "parity/model_numbers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/open_clip_names.h"
#include "cinnabar/tensor/convert.h"
#include "parity/golden_tensors.h"

namespace cinnabar::parity {

namespace {

// goldens/models/README.md: forward absolute, gradients relative to the tensor's largest entry.
constexpr double kForward = 2e-5;
constexpr double kGradient = 1e-4;

// The gradient of a tensor of the file; undefined when there is none. Tensors of open_clip's layout belong to one or
// three of our parameters.
at::Tensor gradient_of(const Tensors& parameters, const std::string& name) {
  const auto own = parameters.find(name);
  if (own != parameters.end()) return own->second.grad();
  for (const std::string prefix : {"cond_stage_model.model.", "conditioner.embedders.1.model."}) {
    if (!name.starts_with(prefix)) continue;
    std::vector<at::Tensor> parts;
    for (const std::string& part : models::sd::module_names(name.substr(prefix.size()))) {
      const auto found = parameters.find(prefix + part);
      if (found == parameters.end() || !found->second.grad().defined()) return {};
      parts.push_back(found->second.grad());
    }
    return at::cat(parts, 0);
  }
  return {};
}

}  // namespace

Tensors read_tensors(const std::filesystem::path& path) {
  const auto file = formats::Checkpoint::open(path);
  Tensors tensors;
  for (const auto& [name, view] : file->tensors()) tensors.emplace(name, tensor::copy(view));
  return tensors;
}

std::vector<std::string> endings(const Tensors& tensors, const std::string& prefix) {
  std::vector<std::string> result;
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it) {
    result.push_back(it->first.substr(prefix.size()));
  }
  return result;
}

void compare_forward(Reporter& reporter, const std::string& name, const at::Tensor& found, const at::Tensor& expected) {
  reporter.result(name, largest_difference(found, expected), kForward);
}

void check_vae(const std::string& model_name, models::DiffusionModel& model, const Tensors& io, Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  const at::Tensor moments = model.encode_moments(io.at("vae.image"));
  compare_forward(reporter, model_name + " vae.moments", moments, io.at("vae.moments"));
  const auto halves = moments.chunk(2, 1);
  compare_forward(reporter, model_name + " vae.mean", halves[0], io.at("vae.mean"));
  compare_forward(reporter, model_name + " vae.std", (halves[1] * 0.5).exp(), io.at("vae.std"));
  compare_forward(reporter, model_name + " vae.decoded", model.decode(io.at("vae.latent_in")), io.at("vae.decoded"));
}

void prepare_training(models::DiffusionModel& model, bool is_checkpointing) {
  for (auto& [name, value] : models::state_tensors(model)) value.mutable_grad().reset();
  for (const models::ModelPart& part : model.parts()) {
    part.module->requires_grad(true);
    part.module->train(true);
    part.module->set_checkpointing(is_checkpointing);
  }
}

void check_gradients(const std::string& model_name, models::DiffusionModel& model, const Tensors& io,
                     const std::string& suffix, Reporter& reporter) {
  Tensors parameters;
  for (auto& [name, value] : models::state_tensors(model)) parameters.emplace(name, value);
  std::vector<at::Tensor> gradients;
  for (const std::string& name : endings(io, "grad.")) gradients.push_back(io.at("grad." + name));
  const double floor = gradient_floor(gradients);
  for (const std::string& name : endings(io, "grad.")) {
    const at::Tensor found = gradient_of(parameters, name);
    if (!found.defined()) {
      reporter.fail(model_name + " grad." + name + suffix, "no such parameter, or no gradient");
      continue;
    }
    reporter.result(model_name + " grad." + name + suffix, relative_difference(found, io.at("grad." + name), floor),
                    kGradient, "relative");
  }
}

}  // namespace cinnabar::parity
