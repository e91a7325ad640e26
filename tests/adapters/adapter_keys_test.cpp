#include "cinnabar/adapters/adapter_keys.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

using cinnabar::adapters::AdapterKey;
using cinnabar::adapters::alpha_from_metadata;
using cinnabar::adapters::recognise_key;

namespace {

const std::set<std::string> kNames{"lora_unet_down_blocks_0_attentions_0_proj_in",
                                   "lora_unet_mid_block_attentions_0_transformer_blocks_0_attn1_to_out_0",
                                   "lora_te_text_model_encoder_layers_0_mlp_fc1"};

}  // namespace

TEST_CASE("recognises_flat_names") {
  const auto key = recognise_key("lora_te_text_model_encoder_layers_0_mlp_fc1.alpha", kNames);
  REQUIRE(key);
  CHECK(key->name == "lora_te_text_model_encoder_layers_0_mlp_fc1");
  CHECK(key->suffix == "alpha");
  CHECK(key->component.empty());
}

TEST_CASE("recognises_dotted_names_of_peft_and_diffusers") {
  const auto check = [](const std::string& text, const std::string& name, const std::string& suffix) {
    const auto key = recognise_key(text, kNames);
    REQUIRE_MESSAGE(key, text);
    CHECK(key->name == name);
    CHECK(key->suffix == suffix);
  };
  const std::string out = "lora_unet_mid_block_attentions_0_transformer_blocks_0_attn1_to_out_0";
  const std::string fc1 = "lora_te_text_model_encoder_layers_0_mlp_fc1";
  check("unet.mid_block.attentions.0.transformer_blocks.0.attn1.to_out.0.lora_A.weight", out, "lora_down.weight");
  check("unet.mid_block.attentions.0.transformer_blocks.0.attn1.to_out.0.lora_B.default.weight", out, "lora_up.weight");
  check("unet.mid_block.attentions.0.transformer_blocks.0.attn1.to_out.0.lora.up.weight", out, "lora_up.weight");
  check("text_encoder.text_model.encoder.layers.0.mlp.fc1.lora_B.weight", fc1, "lora_up.weight");
  check("base_model.model.text_encoder.text_model.encoder.layers.0.mlp.fc1.lora_A.weight", fc1, "lora_down.weight");
  check("text_encoder.text_model.encoder.layers.0.mlp.fc1.alpha", fc1, "alpha");
}

TEST_CASE("other_keys_fit_nothing") {
  for (const char* key : {"", "lora_unet_no_such_layer.alpha", "unet.lora_A.weight", "unet.no.such.layer.lora_A.weight",
                          "text_encoder.down_blocks.0.attentions.0.proj_in.lora_A.weight",
                          "unet.down_blocks.0.attentions.0.proj_in.lora_magnitude_vector", "plain"}) {
    CHECK_MESSAGE(!recognise_key(key, kNames), key);
  }
}

TEST_CASE("alpha_comes_from_the_adapter_metadata") {
  const AdapterKey key{"x", "lora_down.weight", "unet", "down_blocks.0.attentions.0.proj_in"};
  const auto alpha = [&](const std::string& json) {
    return alpha_from_metadata({{"lora_adapter_metadata", json}}, key, 4.0);
  };
  CHECK_FALSE(alpha_from_metadata({}, key, 4.0));
  CHECK_FALSE(alpha(R"({"text_encoder.lora_alpha": 8})"));
  CHECK(*alpha(R"({"unet.lora_alpha": 8})") == 8.0);
  CHECK(*alpha(R"({"unet.lora_alpha": 8, "unet.alpha_pattern": {"attentions.0.proj_in": 3, "b": 5}})") == 3.0);
  CHECK(*alpha(R"({"unet.lora_alpha": 8, "unet.use_rslora": true})") == 16.0);
  CHECK_THROWS_AS(alpha("not json"), cinnabar::base::Error);
}
