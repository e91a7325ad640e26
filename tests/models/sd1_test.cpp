#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/block_names.h"
#include "cinnabar/models/sd/ema_names.h"
#include "cinnabar/models/sd/file_names.h"
#include "models/same_weights.h"
#include "models/small_model.h"

namespace cinnabar::models::sd {

namespace {

SdModel& as_sd(const std::unique_ptr<DiffusionModel>& model) { return dynamic_cast<SdModel&>(*model); }

bool has_note(const DiffusionModel& model, const std::string& part) {
  for (const std::string& note : model.info().notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

// Single-file names of the small model as a diffusers folder has them.
std::string diffusers_name(const std::string& name) {
  static const BlockNames unet = BlockNames::of_unet({.res_blocks = {1, 2}, .has_attention = {false, true}});
  static const BlockNames vae = BlockNames::of_vae(2, 2);
  if (name.starts_with(kUNetPrefix)) return "unet." + unet.to_diffusers(name.substr(kUNetPrefix.size())).value_or("");
  if (name.starts_with(kVaePrefix)) return "vae." + vae.to_diffusers(name.substr(kVaePrefix.size())).value_or("");
  return "text_encoder." + name.substr(kTextPrefix.size());
}

}  // namespace

TEST_CASE("sizes come from the tensors, the rest from the published rules") {
  const auto source = small_model();
  const auto model = load_sd1(*checkpoint_of(*source));
  const nn::UNetConfig& unet = as_sd(model).unet().config();
  REQUIRE(unet.levels.size() == 2);
  CHECK(unet.levels[0].res_blocks == 1);
  CHECK(unet.levels[0].depth == 0);
  CHECK(unet.levels[1].width == 32);
  CHECK(unet.levels[1].res_blocks == 2);
  CHECK(unet.levels[1].depth == 1);
  CHECK(unet.levels[1].heads == 8);
  CHECK(unet.context_width == 12);
  CHECK(unet.time_width == 32);
  CHECK(unet.groups == 4);
  const nn::ClipTextConfig& text = as_sd(model).text_encoder().config();
  CHECK(text.vocabulary == 50);
  CHECK(text.layers == 2);
  CHECK(text.heads == 1);
  CHECK(text.feed_width == 24);
  CHECK(as_sd(model).end_token() == 49);
  CHECK(model->info().downscale == 2);
  CHECK(model->info().latent_channels == 4);
  CHECK(model->info().objective == Objective::Epsilon);
  CHECK(model->info().notes.empty());
  check_same_weights(*source, *model);
}

TEST_CASE("side settings come before the rules") {
  const auto checkpoint = checkpoint_of(*small_model());
  checkpoint->set_side_json(
      R"({"prediction_type": "v", "unet": {"group_norm_groups": 2, "head_counts_per_level": [1, 4]},
    "text_encoder": {"num_heads": 3, "hidden_act": "gelu", "eos_token_id": 7}, "vae": {"group_norm_groups": 4,
    "scaling_factor": 0.5}})");
  const auto model = load_sd1(*checkpoint);
  CHECK(as_sd(model).unet().config().groups == 2);
  CHECK(as_sd(model).unet().config().levels[1].heads == 4);
  CHECK(as_sd(model).unet().config().middle_heads == 4);
  CHECK(as_sd(model).text_encoder().config().heads == 3);
  CHECK(as_sd(model).text_encoder().config().activation == nn::Activation::Gelu);
  CHECK(as_sd(model).end_token() == 7);
  CHECK(model->info().latent_scale == 0.5);
  CHECK(model->info().objective == Objective::Velocity);
}

TEST_CASE("side settings that no model can have are refused with what was found and expected") {
  const auto message_of = [](const std::string& json) -> std::string {
    const auto checkpoint = checkpoint_of(*small_model());
    checkpoint->set_side_json(json);
    try {
      load_sd1(*checkpoint);
    } catch (const base::Error& error) {
      return error.message();
    }
    return "accepted";
  };
  const auto holds = [&](const std::string& json, const std::string& part) {
    const std::string message = message_of(json);
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  holds(R"({"vae": {"scaling_factor": 0}})", "vae.scaling_factor = 0: expected a number from 0.001 to 1000");
  holds(R"({"vae": {"scaling_factor": 1e300}})", "vae.scaling_factor = 1e+300: expected");
  holds(R"({"text_encoder": {"num_layers_used": 99}})", "num_layers_used of the text encoder = 99: expected");
  holds(R"({"text_encoder": {"num_heads": 5}})", "heads of the text encoder = 5: expected a divisor");
  holds(R"({"text_encoder": {"eos_token_id": 50}})", "eos_token_id = 50: expected a token");
  holds(R"({"unet": 5})", "unet = 5: expected an object with settings");
  holds(R"({"unet": {"head_dim": 0}})", "width of the U-Net's heads = 0: expected a divisor");
  holds(R"({"unet": {"head_counts_per_level": [2]}})", "head_counts_per_level = [2]: expected a whole number");
  holds(R"({"unet": {"group_norm_groups": 3}})", "groups of the U-Net's normalisations = 3: expected a divisor");
  holds(R"({"unet": {"nun_heads": 2}})", "unknown key unet.nun_heads; did you mean num_heads?");
  holds(R"({"unet": {"num_heads": 18446744073709551615}})", "expected whole numbers");
  // Image programs keep words of their own there.
  holds(R"({"vae": "other.vae.pt", "description": "mine", "sd version": "SD1"})", "accepted");
}

TEST_CASE("prediction type: settings, then markers, then metadata; the user's word overrides and is noted") {
  const auto checkpoint = checkpoint_of(*small_model());
  checkpoint->set_metadata("modelspec.prediction_type", "v");
  CHECK(load_sd1(*checkpoint)->info().objective == Objective::Velocity);
  CHECK_FALSE(load_sd1(*checkpoint)->info().zero_terminal_snr);

  const auto overridden = load_sd1(*checkpoint, {.v_parameterization = false});
  CHECK(overridden->info().objective == Objective::Epsilon);
  CHECK(has_note(*overridden, "v_parameterization overrides the file"));
  CHECK_FALSE(has_note(*load_sd1(*checkpoint, {.v_parameterization = true}), "overrides"));

  checkpoint->set_metadata("modelspec.prediction_type", "epsilon");
  checkpoint->set("v_pred", at::zeros({0}));
  checkpoint->set("ztsnr", at::zeros({0}));
  CHECK(load_sd1(*checkpoint)->info().objective == Objective::Velocity);
  CHECK(load_sd1(*checkpoint)->info().zero_terminal_snr);

  checkpoint->set_side_json(R"({"prediction_type": "epsilon", "zero_terminal_snr": false})");
  CHECK(load_sd1(*checkpoint)->info().objective == Objective::Epsilon);
  CHECK_FALSE(load_sd1(*checkpoint)->info().zero_terminal_snr);

  checkpoint->set_side_json(R"({"prediction_type": "vee"})");
  CHECK_THROWS_WITH_AS(load_sd1(*checkpoint), doctest::Contains("\"vee\""), base::Error);
}

TEST_CASE("text names without text_model. are repaired, position_ids are dropped") {
  const auto source = small_model();
  const std::string with = kTextPrefix + "text_model.";
  const auto checkpoint = checkpoint_of(*source, [&](const std::string& name) {
    return name.starts_with(with) ? kTextPrefix + name.substr(with.size()) : name;
  });
  checkpoint->set(kTextPrefix + "embeddings.position_ids", at::arange(9, at::kLong).unsqueeze(0));
  const auto model = load_sd1(*checkpoint);
  CHECK(has_note(*model, "text_model."));
  check_same_weights(*source, *model);
}

TEST_CASE("a diffusers folder loads as its single file does") {
  const auto source = small_model();
  const auto checkpoint = checkpoint_of(*source, diffusers_name);
  // diffusers stores the autoencoder's attention as matrices.
  for (const std::string part : {"encoder", "decoder"}) {
    const std::string name = "vae." + part + ".mid_block.attentions.0.to_q.weight";
    REQUIRE(checkpoint->find(name) != nullptr);
    for (const auto& [key, value] : state_tensors(*source)) {
      if (diffusers_name(key) == name) checkpoint->set(name, value.squeeze(-1).squeeze(-1));
    }
  }
  checkpoint->set_side_json(R"({"unet": {"attention_head_dim": 4, "norm_num_groups": 4},
    "scheduler": {"prediction_type": "v_prediction", "rescale_betas_zero_snr": true}})");
  CHECK(model_families().at("sd1").recognises(*checkpoint));
  const auto model = load_sd1(*checkpoint);
  check_same_weights(*source, *model);
  CHECK(as_sd(model).unet().config().levels[1].heads == 4);
  CHECK(model->info().objective == Objective::Velocity);
  CHECK(model->info().zero_terminal_snr);
}

TEST_CASE("averaged weights are used where the plain ones are missing") {
  const auto source = small_model();
  const auto checkpoint = checkpoint_of(*source, [](const std::string& name) {
    if (!name.starts_with(kUNetPrefix)) return name;
    std::string flat = name.substr(kUNetPrefix.size());
    std::erase(flat, '.');
    return kEmaPrefix + flat;
  });
  checkpoint->set("model_ema.decay", at::ones({}));
  CHECK(model_families().at("sd1").recognises(*checkpoint));
  const auto model = load_sd1(*checkpoint);
  check_same_weights(*source, *model);
  CHECK(has_note(*model, "model_ema"));
  CHECK(dotted_unet_name("output_blocks111transformer_blocks10ffnet2bias") ==
        "output_blocks.11.1.transformer_blocks.10.ff.net.2.bias");
  CHECK(dotted_unet_name("label_emb02weight") == "label_emb.0.2.weight");
}

TEST_CASE("missing and mistyped tensors are named") {
  const std::string name = kUNetPrefix + "input_blocks.1.0.in_layers.2.weight";
  const std::string typo = kUNetPrefix + "input_blocks.1.0.in_layers.2.wieght";
  const auto mistyped = checkpoint_of(*small_model(), [&](const std::string& key) { return key == name ? typo : key; });
  CHECK_THROWS_WITH_AS(load_sd1(*mistyped),
                       doctest::Contains(("missing: " + name + " (the file has " + typo + ")").c_str()), base::Error);
  const auto without_vae = checkpoint_of(
      *small_model(), [&](const std::string& key) { return key.starts_with(kVaePrefix) ? std::string() : key; });
  CHECK_THROWS_WITH_AS(load_sd1(*without_vae), doctest::Contains("no autoencoder"), base::Error);
}

TEST_CASE("weights are loaded in the wanted types, and predictions keep the caller's") {
  const auto model = load_sd1(*checkpoint_of(*small_model()), {.dtype = at::kBFloat16});
  const at::NoGradGuard no_gradients;
  const Tokens tokens{.ids = {at::zeros({1, 1, 9}, at::kLong)}};
  const Conditioning conditioning = model->encode_text(tokens, {});
  CHECK((conditioning.context.scalar_type() == at::kBFloat16));
  const at::Tensor noisy = at::randn({1, 4, 5, 6});
  const at::Tensor found = model->predict(noisy, at::tensor({3}, at::kLong), conditioning);
  CHECK((found.scalar_type() == at::kFloat));
  CHECK(found.sizes() == noisy.sizes());
  CHECK((model->encode_moments(at::zeros({1, 3, 8, 8})).scalar_type() == at::kFloat));
}

TEST_CASE("chunks are joined at their inner states, clip skip ends in the final norm") {
  const auto model = small_model();
  const at::NoGradGuard no_gradients;
  const at::Tensor ids = at::arange(36, at::kLong).view({2, 2, 9});
  const at::Tensor joined = model->encode_text({.ids = {ids}}, {}).context;
  CHECK(joined.sizes() == at::IntArrayRef({2, 16, 12}));
  const at::Tensor first = model->encode_text({.ids = {ids.slice(1, 0, 1)}}, {}).context;
  const at::Tensor second = model->encode_text({.ids = {ids.slice(1, 1, 2)}}, {}).context;
  // Other batch sizes may take other kernels: not bit-equal.
  CHECK(at::allclose(joined.slice(1, 0, 8), first.slice(1, 0, 8), 1e-4, 1e-5));
  CHECK(at::allclose(joined.slice(1, 8, 16), second.slice(1, 1, 9), 1e-4, 1e-5));
  const at::Tensor skipped = model->encode_text({.ids = {ids.slice(1, 0, 1)}}, {.clip_skip = 2}).context;
  const at::Tensor expected = model->text_encoder().final_norm(model->text_encoder().state_after(ids.select(1, 0), 1));
  CHECK(at::allclose(skipped, expected));
  CHECK_THROWS_WITH_AS(model->encode_text({.ids = {ids}}, {.clip_skip = 9}), doctest::Contains("clip_skip = 9"),
                       base::Error);
}

TEST_CASE("adapters find their layers under kohya's names, in file order") {
  const auto model = small_model();
  const auto targets = model->adapter_targets();
  std::map<std::string, const AdapterTarget*> by_name;
  for (size_t i = 0; i < targets.size(); ++i) {
    by_name[targets[i].name] = &targets[i];
    if (i > 0) CHECK(targets[i - 1].name < targets[i].name);
  }
  const auto check = [&](const std::string& name, bool is_extended) {
    CAPTURE(name);
    REQUIRE(by_name.contains(name));
    CHECK(by_name[name]->is_extended == is_extended);
  };
  check("lora_te_text_model_encoder_layers_1_self_attn_out_proj", false);
  check("lora_te_text_model_encoder_layers_0_mlp_fc2", false);
  check("lora_unet_down_blocks_1_attentions_1_transformer_blocks_0_attn2_to_out_0", false);
  check("lora_unet_mid_block_attentions_0_proj_in", false);
  check("lora_unet_up_blocks_0_attentions_2_transformer_blocks_0_ff_net_0_proj", false);
  check("lora_unet_down_blocks_0_downsamplers_0_conv", true);
  check("lora_unet_up_blocks_0_upsamplers_0_conv", true);
  check("lora_unet_up_blocks_1_resnets_1_conv_shortcut", true);
  check("lora_unet_mid_block_resnets_1_time_emb_proj", true);
  CHECK_FALSE(by_name.contains("lora_unet_conv_in"));
  CHECK_FALSE(by_name.contains("lora_unet_time_embedding_linear_1"));
  CHECK(by_name["lora_unet_mid_block_attentions_0_proj_in"]->layer->shape().is_convolution);
}

TEST_CASE("released parts are gone, and using them is our own error") {
  const auto model = small_model();
  CHECK(model->vae_part().has_value());
  model->release("vae");
  CHECK_FALSE(model->vae_part().has_value());
  CHECK_THROWS_WITH_AS(model->decode(at::zeros({1, 4, 2, 2})), doctest::Contains("autoencoder was released"),
                       base::Error);
  model->release("text_encoder");
  REQUIRE(model->parts().size() == 1);
  CHECK(model->parts()[0].name == "unet");
  CHECK_THROWS_AS(model->release("engine"), base::Error);
}

TEST_CASE("captions need CLIP's vocabulary") {
  CHECK_THROWS_WITH_AS(small_model()->tokenize({"a cat"}, {}), doctest::Contains("knows 50 tokens"), base::Error);
}

TEST_CASE("the small random model has the embedded model's architecture") {
  const SdConfig config = tiny_config();
  CHECK(config.text.vocabulary == 49408);
  nn::UNet unet(config.unet);
  nn::AutoencoderKl vae(config.vae);
  nn::ClipText text(config.text);
  const auto count = [](nn::Module& module) {
    int64_t total = 0;
    module.each_parameter("", [&](const std::string&, at::Tensor& value) { total += value.numel(); });
    return total;
  };
  // Millions of parameters, as the architecture's description says.
  CHECK(static_cast<double>(count(unet)) / 1e6 == doctest::Approx(4.13).epsilon(0.002));
  CHECK(static_cast<double>(count(vae)) / 1e6 == doctest::Approx(0.73).epsilon(0.01));
  CHECK(static_cast<double>(count(text)) / 1e6 == doctest::Approx(3.27).epsilon(0.002));
  CHECK_THROWS_WITH_AS(model_families().at("sd1").create({.size = "huge"}), doctest::Contains("\"huge\""), base::Error);
}

TEST_CASE("tensors of the whole CLIP model, which other programs write along, are ignored") {
  CHECK(is_ignored("cond_stage_model.transformer.text_projection.weight"));
  CHECK(is_ignored("cond_stage_model.transformer.logit_scale"));
  CHECK_FALSE(is_ignored("cond_stage_model.transformer.text_model.final_layer_norm.weight"));
}

}  // namespace cinnabar::models::sd
