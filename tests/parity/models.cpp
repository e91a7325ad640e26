// Models against the reference implementations' numbers: text encoder, autoencoder, U-Net, loss and gradients.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/sd_model.h"
#include "cinnabar/tensor/convert.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

// goldens/models/README.md: forward absolute, gradients relative to the tensor's largest entry.
constexpr double kForward = 2e-5;
constexpr double kGradient = 1e-4;

using Tensors = std::map<std::string, at::Tensor>;

Tensors read_tensors(const std::filesystem::path& path) {
  const auto file = formats::Checkpoint::open(path);
  Tensors tensors;
  for (const auto& [name, view] : file->tensors()) tensors.emplace(name, tensor::copy(view));
  return tensors;
}

void compare(Reporter& reporter, const std::string& name, const at::Tensor& found, const at::Tensor& expected) {
  reporter.result(name, largest_difference(found, expected), kForward);
}

// Number behind `prefix` in the names that have it: "te.hidden_states." -> 0, 1, 2, ...
std::vector<std::string> endings(const Tensors& tensors, const std::string& prefix) {
  std::vector<std::string> result;
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it) {
    result.push_back(it->first.substr(prefix.size()));
  }
  return result;
}

void check_text(const std::string& model_name, models::sd::SdModel& model, const Tensors& io, Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  nn::ClipText& text = model.text_encoder();
  const at::Tensor& ids = io.at("te.input_ids");
  const std::vector<at::Tensor> states = text.hidden_states(ids);
  for (const std::string& index : endings(io, "te.hidden_states.")) {
    compare(reporter, model_name + " te.hidden_states." + index, states.at(std::stoul(index)),
            io.at("te.hidden_states." + index));
  }
  const models::Tokens tokens{.ids = {ids.unsqueeze(1)}};
  compare(reporter, model_name + " te.last_hidden_state", model.encode_text(tokens, {}).context,
          io.at("te.last_hidden_state"));
  compare(reporter, model_name + " te.penultimate_ln", model.encode_text(tokens, {.clip_skip = 2}).context,
          io.at("te.penultimate_ln"));
  compare(reporter, model_name + " te.pooled", nn::pool_at_end(text.final_norm(states.back()), ids, model.end_token()),
          io.at("te.pooled"));
}

void check_vae(const std::string& model_name, models::DiffusionModel& model, const Tensors& io, Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  const at::Tensor moments = model.encode_moments(io.at("vae.image"));
  compare(reporter, model_name + " vae.moments", moments, io.at("vae.moments"));
  const auto halves = moments.chunk(2, 1);
  compare(reporter, model_name + " vae.mean", halves[0], io.at("vae.mean"));
  compare(reporter, model_name + " vae.std", (halves[1] * 0.5).exp(), io.at("vae.std"));
  compare(reporter, model_name + " vae.decoded", model.decode(io.at("vae.latent_in")), io.at("vae.decoded"));
}

void check_unet(const std::string& model_name, models::DiffusionModel& model, const Tensors& io, Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  for (const std::string& ending : endings(io, "unet.")) {
    const size_t dot = ending.find(".out.");
    if (dot == std::string::npos) continue;
    const std::string prefix = "unet." + ending.substr(0, dot) + ".";
    const std::string number = ending.substr(dot + 5);
    const at::Tensor found = model.predict(io.at(prefix + "sample"), io.at(prefix + "timesteps." + number),
                                           {.context = io.at(prefix + "context")});
    compare(reporter, model_name + " unet." + ending, found, io.at("unet." + ending));
  }
}

void check_training(const std::string& model_name, models::DiffusionModel& model, const Tensors& io,
                    bool is_checkpointing, Reporter& reporter) {
  Tensors parameters;
  for (auto& [name, value] : models::state_tensors(model)) {
    value.mutable_grad().reset();
    parameters.emplace(name, value);
  }
  for (const models::ModelPart& part : model.parts()) {
    part.module->requires_grad(true);
    part.module->train(true);
    part.module->set_checkpointing(is_checkpointing);
  }
  const std::string suffix = is_checkpointing ? " (checkpointing)" : "";
  const models::Tokens tokens{.ids = {io.at("te.input_ids").unsqueeze(1)}};
  const at::Tensor context = model.encode_text(tokens, {}).context;
  const at::Tensor prediction = model.predict(io.at("unet.a.sample"), io.at("train.timesteps"), {.context = context});
  const at::Tensor loss = at::mse_loss(prediction, io.at("train.target"));
  compare(reporter, model_name + " train.context" + suffix, context.detach(), io.at("train.context"));
  compare(reporter, model_name + " train.pred" + suffix, prediction.detach(), io.at("train.pred"));
  compare(reporter, model_name + " train.loss" + suffix, loss.detach().view({1}), io.at("train.loss"));
  torch::autograd::backward({loss}, {});
  std::vector<at::Tensor> gradients;
  for (const std::string& name : endings(io, "grad.")) gradients.push_back(io.at("grad." + name));
  const double floor = gradient_floor(gradients);
  for (const std::string& name : endings(io, "grad.")) {
    const at::Tensor& expected = io.at("grad." + name);
    const auto found = parameters.find(name);
    if (found == parameters.end() || !found->second.grad().defined()) {
      reporter.fail(model_name + " grad." + name + suffix, "no such parameter, or no gradient");
      continue;
    }
    reporter.result(model_name + " grad." + name + suffix, relative_difference(found->second.grad(), expected, floor),
                    kGradient, "relative");
  }
}

void check_model(const std::filesystem::path& folder, const std::string& name, Reporter& reporter) {
  const auto model = models::load_model((folder / (name + ".safetensors")).string(), {});
  auto* sd = dynamic_cast<models::sd::SdModel*>(model.get());
  if (sd == nullptr) {
    reporter.skip(name, "no parity check for this family yet");
    return;
  }
  const Tensors io = read_tensors(folder / (name + "_io.safetensors"));
  check_text(name, *sd, io, reporter);
  check_vae(name, *model, io, reporter);
  check_unet(name, *model, io, reporter);
  check_training(name, *model, io, false, reporter);
  check_training(name, *model, io, true, reporter);
}

void run_models(const std::filesystem::path& folder, Reporter& reporter) {
  std::map<std::string, std::string> architectures;  // by file name
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto json = read_json(entry.path());
    if (json.contains("arch")) architectures[entry.path().stem().string()] = json["arch"].get<std::string>();
  }
  for (const auto& [name, architecture] : architectures) {
    if (architecture != "sd15") {
      reporter.skip(name, "the family " + architecture + " is not built yet");
      continue;
    }
    try {
      check_model(folder, name, reporter);
    } catch (const std::exception& error) {
      reporter.fail(name, error.what());
    }
  }
}

CINNABAR_PARITY_GROUP(models, "models", run_models);

}  // namespace

}  // namespace cinnabar::parity
