// Models against the reference implementations' numbers: text encoder, autoencoder, U-Net, loss and gradients.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/sd_model.h"
#include "parity/golden_tensors.h"
#include "parity/model_numbers.h"

namespace cinnabar::parity {

namespace {

void check_text(const std::string& model_name, models::sd::SdModel& model, const Tensors& io, Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  nn::ClipText& text = model.text_encoder();
  const at::Tensor& ids = io.at("te.input_ids");
  const std::vector<at::Tensor> states = text.hidden_states(ids);
  for (const std::string& index : endings(io, "te.hidden_states.")) {
    compare_forward(reporter, model_name + " te.hidden_states." + index, states.at(std::stoul(index)),
                    io.at("te.hidden_states." + index));
  }
  const models::Tokens tokens{.ids = {ids.unsqueeze(1)}};
  compare_forward(reporter, model_name + " te.last_hidden_state", model.encode_text(tokens, {}).context,
                  io.at("te.last_hidden_state"));
  compare_forward(reporter, model_name + " te.penultimate_ln", model.encode_text(tokens, {.clip_skip = 2}).context,
                  io.at("te.penultimate_ln"));
  compare_forward(reporter, model_name + " te.pooled",
                  nn::pool_at_end(text.final_norm(states.back()), ids, model.end_token()), io.at("te.pooled"));
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
    compare_forward(reporter, model_name + " unet." + ending, found, io.at("unet." + ending));
  }
}

void check_training(const std::string& model_name, models::DiffusionModel& model, const Tensors& io,
                    bool is_checkpointing, Reporter& reporter) {
  prepare_training(model, is_checkpointing);
  const std::string suffix = is_checkpointing ? " (checkpointing)" : "";
  const models::Tokens tokens{.ids = {io.at("te.input_ids").unsqueeze(1)}};
  const at::Tensor context = model.encode_text(tokens, {}).context;
  const at::Tensor prediction = model.predict(io.at("unet.a.sample"), io.at("train.timesteps"), {.context = context});
  const at::Tensor loss = at::mse_loss(prediction, io.at("train.target"));
  compare_forward(reporter, model_name + " train.context" + suffix, context.detach(), io.at("train.context"));
  compare_forward(reporter, model_name + " train.pred" + suffix, prediction.detach(), io.at("train.pred"));
  compare_forward(reporter, model_name + " train.loss" + suffix, loss.detach().view({1}), io.at("train.loss"));
  torch::autograd::backward({loss}, {});
  check_gradients(model_name, model, io, suffix, reporter);
}

// SD 1 and 2.
void check_sd(const std::filesystem::path& folder, const std::string& name, Reporter& reporter) {
  const auto loaded = models::load_model((folder / (name + ".safetensors")).string(), {});
  auto& model = dynamic_cast<models::sd::SdModel&>(*loaded);
  const Tensors io = read_tensors(folder / (name + "_io.safetensors"));
  check_text(name, model, io, reporter);
  check_vae(name, model, io, reporter);
  check_unet(name, model, io, reporter);
  check_training(name, model, io, false, reporter);
  check_training(name, model, io, true, reporter);
}

void run_models(const std::filesystem::path& folder, Reporter& reporter) {
  std::map<std::string, std::string> architectures;  // by file name
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto json = read_json(entry.path());
    if (json.contains("arch")) architectures[entry.path().stem().string()] = json["arch"].get<std::string>();
  }
  for (const auto& [name, architecture] : architectures) {
    try {
      if (architecture == "sd15" || architecture == "sd2") {
        check_sd(folder, name, reporter);
      } else if (architecture == "sdxl") {
        check_sdxl(folder, name, reporter);
      } else {
        reporter.skip(name, "the family " + architecture + " is not built yet");
      }
    } catch (const std::exception& error) {
      reporter.fail(name, error.what());
    }
  }
}

CINNABAR_PARITY_GROUP(models, "models", run_models);

}  // namespace

}  // namespace cinnabar::parity
