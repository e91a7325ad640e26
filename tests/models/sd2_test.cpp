#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/base/error.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/block_names.h"
#include "cinnabar/models/sd/file_names.h"
#include "cinnabar/models/sd2/prediction.h"
#include "cinnabar/tensor/convert.h"
#include "models/same_weights.h"
#include "models/small_families.h"
#include "models/small_model.h"

namespace cinnabar::models {

namespace {

const std::string kText = "cond_stage_model.model.";

std::unique_ptr<DiffusionModel> load_sd2(const formats::Checkpoint& checkpoint, const LoadOptions& options = {}) {
  return model_families().at("sd2").load(checkpoint, options);
}

bool has_note(const ModelInfo& info, const std::string& part) {
  return std::ranges::any_of(info.notes, [&](const auto& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("SD 2: a file is recognised by its text encoder and loads without the layer that is not used") {
  const auto source = small_sd2();
  const auto checkpoint = sd::checkpoint_of(*source);
  CHECK(checkpoint->find(kText + "transformer.resblocks.2.ln_1.weight") != nullptr);  // one more than is used
  CHECK(model_families().at("sd2").recognises(*checkpoint));
  CHECK_FALSE(model_families().at("sd1").recognises(*checkpoint));
  CHECK_FALSE(model_families().at("sdxl").recognises(*checkpoint));
  const auto model = load_sd2(*checkpoint);
  check_same_weights(*source, *model);
  const nn::ClipTextConfig& text = dynamic_cast<sd::SdModel&>(*model).text_encoder().config();
  CHECK(text.layers == 2);
  CHECK(text.activation == nn::Activation::Gelu);
  CHECK(model->info().family == "sd2");
  CHECK(model->info().base_model_version == "sd_v2");
}

TEST_CASE("SD 2: side settings say how many layers count; more than there are is refused") {
  const auto checkpoint = sd::checkpoint_of(*small_sd2());
  checkpoint->set_side_json(R"({"text_encoder": {"num_layers_used": 1}})");
  CHECK(dynamic_cast<sd::SdModel&>(*load_sd2(*checkpoint)).text_encoder().config().layers == 1);
  checkpoint->set_side_json(R"({"text_encoder": {"num_layers_used": 9}})");
  CHECK_THROWS_WITH_AS(load_sd2(*checkpoint), doctest::Contains("9 layers of the text encoder"), base::Error);
}

TEST_CASE("SD 2: a diffusers folder, with matrices as projections, loads as its single file does") {
  const auto source = small_sd2();
  static const sd::BlockNames unet = sd::BlockNames::of_unet({.res_blocks = {1, 2}, .has_attention = {false, true}});
  static const sd::BlockNames vae = sd::BlockNames::of_vae(2, 2);
  sd::MemoryCheckpoint folder;
  for (const auto& [name, value] : state_tensors(*source)) {
    if (name.starts_with(sd::kUNetPrefix)) {
      folder.set("unet." + unet.to_diffusers(name.substr(sd::kUNetPrefix.size())).value_or(""), value);
    } else if (name.starts_with(sd::kVaePrefix)) {
      folder.set("vae." + vae.to_diffusers(name.substr(sd::kVaePrefix.size())).value_or(""), value);
    } else {
      folder.set("text_encoder." + name.substr(kText.size()), value);
    }
  }
  folder.set_side_json(R"({"unet": {"attention_head_dim": [1, 1]}, "text_encoder": {"hidden_act": "gelu",
    "eos_token_id": 2}, "scheduler": {"prediction_type": "v_prediction"}})");
  CHECK(model_families().at("sd2").recognises(folder));
  CHECK_FALSE(model_families().at("sd1").recognises(folder));
  const auto model = load_sd2(folder);
  check_same_weights(*source, *model);
  CHECK(model->info().objective == Objective::Velocity);
  CHECK(model->info().base_model_version == "sd_v2_v");
  CHECK(model->info().modelspec_architecture == "stable-diffusion-v2-768-v");
  CHECK(dynamic_cast<sd::SdModel&>(*model).end_token() == 49);  // the 2 of old configurations means nothing
}

TEST_CASE("SD 2: projections of transformers are adapted as linear layers") {
  const auto model = small_sd2();
  const auto targets = model->adapter_targets();
  const auto found = std::ranges::find(targets, "lora_unet_mid_block_attentions_0_proj_in", &AdapterTarget::name);
  REQUIRE(found != targets.end());
  CHECK_FALSE(found->layer->shape().is_convolution);
  CHECK(std::ranges::find(targets, "lora_te_text_model_encoder_layers_1_self_attn_q_proj", &AdapterTarget::name) !=
        targets.end());
}

TEST_CASE("SD 2: the published weights' look tells the prediction where nothing else does") {
  const std::string name = sd::kUNetPrefix + "output_blocks.11.1.transformer_blocks.0.norm1.bias";
  const at::Tensor wide = at::linspace(-1, 1, 320);
  const at::Tensor narrow = wide * 0.1;
  NamedViews views{{name, tensor::view_of(wide)}};
  CHECK(sd2::looks_like_velocity(views) == std::optional<bool>(true));
  ModelInfo info;
  sd2::read_prediction(info, views, {});
  CHECK(info.objective == Objective::Velocity);
  CHECK(info.native_side_px == 768);
  CHECK(has_note(info, "as the weights look like it"));

  views[name] = tensor::view_of(narrow);
  CHECK(sd2::looks_like_velocity(views) == std::optional<bool>(false));
  ModelInfo asked;
  asked.objective = Objective::Velocity;  // as set_objective leaves it with the user's word
  sd2::read_prediction(asked, views, {.v_parameterization = true});
  CHECK(asked.objective == Objective::Velocity);
  CHECK(has_note(asked, "look like epsilon"));
  CHECK_FALSE(sd2::looks_like_velocity({}).has_value());
}

}  // namespace cinnabar::models
