#include "cinnabar/models/sd/open_clip_names.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <map>

#include "cinnabar/nn/clip_text.h"
#include "cinnabar/nn/initial_values.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::models::sd {

namespace {

NamedTensors small_encoder_tensors(nn::ClipText& text) {
  nn::set_initial_values(text, "text", 3);
  NamedTensors tensors;
  text.each_parameter("",
                      [&](const std::string& name, at::Tensor& value) { tensors.emplace_back("p." + name, value); });
  return tensors;
}

nn::ClipTextConfig config() {
  return {.vocabulary = 20, .positions = 5, .width = 6, .layers = 2, .heads = 1, .feed_width = 12};
}

// Views of tensors below "p.".
NamedViews views_of(const NamedTensors& tensors) {
  NamedViews views;
  for (const auto& [name, value] : tensors) views.emplace(name.substr(2), tensor::view_of(value));
  return views;
}

}  // namespace

TEST_CASE("a text encoder goes to open_clip's names and back") {
  nn::ClipText text(config());
  NamedTensors tensors = small_encoder_tensors(text);
  const NamedTensors original = tensors;
  to_open_clip(tensors, "p.");
  std::map<std::string, at::Tensor> stored(tensors.begin(), tensors.end());
  REQUIRE(stored.contains("p.transformer.resblocks.1.attn.in_proj_weight"));
  CHECK(stored.at("p.transformer.resblocks.1.attn.in_proj_weight").sizes() == at::IntArrayRef({18, 6}));
  CHECK(stored.contains("p.positional_embedding"));
  CHECK(stored.contains("p.transformer.resblocks.0.mlp.c_proj.bias"));
  const NamedViews back = from_open_clip(views_of(tensors), 2);
  REQUIRE(back.size() == original.size());
  for (const auto& [name, value] : original) {
    CAPTURE(name);
    REQUIRE(back.contains(name.substr(2)));
    CHECK(at::equal(tensor::copy(back.at(name.substr(2))), value));
  }
}

TEST_CASE("layers that are not used and tensors of the whole model are left out, mistyped names stay") {
  nn::ClipText text(config());
  NamedTensors tensors = small_encoder_tensors(text);
  to_open_clip(tensors, "p.");
  tensors.emplace_back("p.logit_scale", at::ones({}));
  tensors.emplace_back("p.text_projection", at::ones({6, 6}));
  tensors.emplace_back("p.transformer.resblocks.0.ln_1.wieght.more", at::ones({6}));
  const NamedViews views = from_open_clip(views_of(tensors), 1);
  CHECK_FALSE(views.contains("logit_scale"));
  CHECK_FALSE(views.contains("text_projection"));
  CHECK(views.contains("text_model.encoder.layers.0.self_attn.v_proj.bias"));
  CHECK_FALSE(views.contains("text_model.encoder.layers.1.self_attn.v_proj.bias"));
  CHECK(views.contains("text_model.encoder.layers.0.layer_norm1.wieght.more"));
}

TEST_CASE("the unused last layer of SD 2 is a copy") {
  nn::ClipText text(config());
  NamedTensors tensors = small_encoder_tensors(text);
  to_open_clip(tensors, "p.");
  add_unused_layer(tensors, "p.");
  const std::map<std::string, at::Tensor> stored(tensors.begin(), tensors.end());
  REQUIRE(stored.contains("p.transformer.resblocks.2.ln_2.bias"));
  CHECK(at::equal(stored.at("p.transformer.resblocks.2.attn.in_proj_bias"),
                  stored.at("p.transformer.resblocks.1.attn.in_proj_bias")));
  CHECK(stored.at("p.text_projection").sizes() == at::IntArrayRef({6, 6}));
  CHECK(stored.contains("p.logit_scale"));
}

TEST_CASE("one stored tensor is one or three of our parameters") {
  CHECK(module_names("ln_final.weight") == std::vector<std::string>{"text_model.final_layer_norm.weight"});
  CHECK(module_names("transformer.resblocks.7.attn.in_proj_bias") ==
        std::vector<std::string>{"text_model.encoder.layers.7.self_attn.q_proj.bias",
                                 "text_model.encoder.layers.7.self_attn.k_proj.bias",
                                 "text_model.encoder.layers.7.self_attn.v_proj.bias"});
  CHECK(module_names("visual.proj") == std::vector<std::string>{"visual.proj"});
}

}  // namespace cinnabar::models::sd
