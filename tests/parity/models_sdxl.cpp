// SDXL against the reference implementation's numbers. The reference takes the pooled text's projection untransposed,
// so its numbers are checked with that switch; open_clip's pooled text is checked without it.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sdxl/sdxl_model.h"
#include "parity/model_numbers.h"

namespace cinnabar::parity {

namespace {

struct Sdxl {
  explicit Sdxl(const std::filesystem::path& file, bool has_sdscripts_projection)
      : loaded(models::load_model(file.string(), {.has_sdscripts_projection = has_sdscripts_projection})),
        model(dynamic_cast<models::sdxl::SdxlModel&>(*loaded)) {}

  std::unique_ptr<models::DiffusionModel> loaded;
  models::sdxl::SdxlModel& model;
};

models::Tokens tokens_of(const Tensors& io) {
  return {.ids = {io.at("te1.input_ids").unsqueeze(1), io.at("te2.input_ids").unsqueeze(1)}};
}

at::Tensor sizes_of(const Tensors& io) {
  return at::cat({io.at("size.original_hw"), io.at("size.crop_top_left"), io.at("size.target_hw")}, 1);
}

void check_encoder(const std::string& label, nn::ClipText& text, const at::Tensor& ids, const Tensors& io,
                   Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> states = text.hidden_states(ids);
  const std::string part = label.substr(label.find(' ') + 1);
  for (const std::string& index : endings(io, part + ".hidden_states.")) {
    compare_forward(reporter, label + ".hidden_states." + index, states.at(std::stoul(index)),
                    io.at(part + ".hidden_states." + index));
  }
  compare_forward(reporter, label + ".last_hidden_state", text.final_norm(states.back()),
                  io.at(part + ".last_hidden_state"));
  compare_forward(reporter, label + ".penultimate_ln", text.final_norm(states.at(states.size() - 2)),
                  io.at(part + ".penultimate_ln"));
}

void check_conditioning(const std::string& name, models::sdxl::SdxlModel& model, const Tensors& io,
                        Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  const models::Conditioning found = model.encode_text(tokens_of(io), {});
  compare_forward(reporter, name + " cond.hidden1, cond.hidden2", found.context,
                  at::cat({io.at("cond.hidden1"), io.at("cond.hidden2")}, 2));
  compare_forward(reporter, name + " cond.pool2", found.pooled, io.at("cond.pool2"));
  compare_forward(reporter, name + " size.embedding", model.size_embedding(sizes_of(io)), io.at("size.embedding"));
}

void check_unet(const std::string& name, models::DiffusionModel& model, const Tensors& io, Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  for (const std::string& ending : endings(io, "unet.")) {
    const size_t dot = ending.find(".out.");
    if (dot == std::string::npos) continue;
    const std::string prefix = "unet." + ending.substr(0, dot) + ".";
    const models::Conditioning given{.context = io.at(prefix + "context"), .vector = io.at("unet.y")};
    const at::Tensor found =
        model.predict(io.at(prefix + "sample"), io.at(prefix + "timesteps." + ending.substr(dot + 5)), given);
    compare_forward(reporter, name + " unet." + ending, found, io.at("unet." + ending));
  }
}

void check_training(const std::string& name, models::DiffusionModel& model, const Tensors& io, bool is_checkpointing,
                    Reporter& reporter) {
  prepare_training(model, is_checkpointing);
  const std::string suffix = is_checkpointing ? " (checkpointing)" : "";
  models::Conditioning conditioning = model.encode_text(tokens_of(io), {});
  conditioning.sizes = sizes_of(io);
  const at::Tensor prediction = model.predict(io.at("unet.a.sample"), io.at("train.timesteps"), conditioning);
  const at::Tensor loss = at::mse_loss(prediction, io.at("train.target"));
  compare_forward(reporter, name + " train.pred" + suffix, prediction.detach(), io.at("train.pred"));
  compare_forward(reporter, name + " train.loss" + suffix, loss.detach().view({1}), io.at("train.loss"));
  torch::autograd::backward({loss}, {});
  check_gradients(name, model, io, suffix, reporter);
}

}  // namespace

void check_sdxl(const std::filesystem::path& folder, const std::string& name, Reporter& reporter) {
  const std::filesystem::path file = folder / (name + ".safetensors");
  const Tensors io = read_tensors(folder / (name + "_io.safetensors"));
  if (const auto expected = io.find("te2.pooled_open_clip"); expected != io.end()) {
    const at::NoGradGuard no_gradients;
    Sdxl plain(file, false);
    compare_forward(reporter, name + " te2.pooled_open_clip", plain.model.encode_text(tokens_of(io), {}).pooled,
                    expected->second);
  }
  Sdxl sdxl(file, true);
  check_encoder(name + " te1", sdxl.model.text_encoder1(), io.at("te1.input_ids"), io, reporter);
  check_encoder(name + " te2", sdxl.model.text_encoder2(), io.at("te2.input_ids"), io, reporter);
  check_conditioning(name, sdxl.model, io, reporter);
  check_vae(name, sdxl.model, io, reporter);
  check_unet(name, sdxl.model, io, reporter);
  check_training(name, sdxl.model, io, false, reporter);
  check_training(name, sdxl.model, io, true, reporter);
}

}  // namespace cinnabar::parity
