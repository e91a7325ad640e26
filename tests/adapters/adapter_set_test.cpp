#include "cinnabar/adapters/adapter_set.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::adapters;

// One layer a part, and one that only conv_dim adds.
struct TinyModel {
  nn::Linear text{8, 6};
  nn::Linear attention{8, 6};
  nn::Conv2d resnet{{.in = 4, .out = 4}};

  TinyModel() {
    for (nn::Layer* layer : std::initializer_list<nn::Layer*>{&text, &attention, &resnet}) {
      layer->weight = at::sin(at::arange(layer->weight.numel(), at::kFloat)).reshape(layer->weight.sizes());
      layer->bias = at::zeros({layer->weight.size(0)});
    }
  }
  std::vector<models::AdapterTarget> targets() {
    return {{"lora_te_text_model_fc1", "text_encoder", &text},
            {"lora_unet_mid_to_q", "unet", &attention},
            {"lora_unet_mid_conv1", "unet", &resnet, true}};
  }
};

struct TemporaryFolder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "cinnabar_adapter_set_test";
  TemporaryFolder() { std::filesystem::create_directories(path); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

void fill(AdapterSet& set) {
  const at::NoGradGuard no_grad;
  for (const NamedParameter& parameter : set.parameters()) {
    parameter.value->copy_(at::cos(at::arange(parameter.value->numel(), at::kFloat)).reshape(parameter.value->sizes()));
  }
}

const at::Tensor kInput = at::linspace(-1.0, 1.0, 16).reshape({2, 8});

}  // namespace

TEST_CASE("parameters_stand_in_file_order_with_their_part") {
  TinyModel model;
  AdapterSet set("networks.lora", model.targets(), {.network_dim = 2, .conv_dim = 1});
  std::vector<std::string> names;
  for (const NamedParameter& parameter : set.parameters()) names.push_back(parameter.part + " " + parameter.name);
  CHECK(names == std::vector<std::string>{
                     "text_encoder lora_te_text_model_fc1.lora_down.weight",
                     "text_encoder lora_te_text_model_fc1.lora_up.weight", "unet lora_unet_mid_to_q.lora_down.weight",
                     "unet lora_unet_mid_to_q.lora_up.weight", "unet lora_unet_mid_conv1.lora_down.weight",
                     "unet lora_unet_mid_conv1.lora_up.weight"});
}

TEST_CASE("parts_that_are_not_trained_get_no_adapter") {
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.train_text_encoder = false});
  CHECK(set.size() == 1);
  CHECK_FALSE(model.text.has_adapters());
  CHECK_THROWS_AS(AdapterSet("lora", model.targets(), {.train_unet = false, .train_text_encoder = false}), base::Error);
  CHECK_THROWS_WITH_AS(AdapterSet("loro", model.targets(), {}), doctest::Contains("did you mean \"lora\""),
                       base::Error);
}

TEST_CASE("groups_follow_the_reference_tool_with_lora_plus_apart") {
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.loraplus_lr_ratio = 4.0, .loraplus_text_encoder_lr_ratio = 2.0});
  const auto groups = set.parameter_groups({.unet = 1e-3, .text_encoder = 1e-4});
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].label == "textencoder");
  CHECK(groups[1].label == "textencoder plus");
  CHECK(groups[1].lr == doctest::Approx(2e-4));
  CHECK(groups[2].label == "unet");
  CHECK(groups[3].lr == doctest::Approx(4e-3));
  CHECK(groups[3].parameters.at(0).name == "lora_unet_mid_to_q.lora_up.weight");
}

TEST_CASE("a_rate_of_zero_freezes_the_part") {
  TinyModel model;
  AdapterSet set("lora", model.targets(), {});
  const auto groups = set.parameter_groups({.unet = 1e-3, .text_encoder = 0.0});
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].label == "unet");
  CHECK_FALSE(set.parameters().at(0).value->requires_grad());
  CHECK(set.parameters().at(2).value->requires_grad());
}

TEST_CASE("a_saved_file_loads_to_the_same_outputs_and_carries_both_hashes") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.network_dim = 2, .network_alpha = {1.0, true}, .conv_dim = 1});
  fill(set);
  const at::Tensor expected = model.attention.forward(kInput).detach();
  set.save(folder.path / "a.safetensors", {{"ss_network_dim", "2"}});
  const auto file = formats::Checkpoint::open(folder.path / "a.safetensors");
  CHECK(file->metadata().at("ss_network_dim") == "2");
  CHECK(file->metadata().at("sshs_model_hash").size() == 64);
  CHECK(file->metadata().at("sshs_legacy_hash") == "e3b0c442");
  CHECK(file->at("lora_unet_mid_to_q.alpha").dtype == formats::Dtype::I64);
  CHECK(file->tensors().size() == 9);

  TinyModel other;
  LoadReport report;
  const auto restored = AdapterSet::from_file(other.targets(), *file, {}, &report);
  CHECK(report.loaded == 3);
  CHECK(report.unmatched.empty());
  CHECK(other.attention.forward(kInput).equal(expected));
}

TEST_CASE("save_precision_casts_weights_and_alphas") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {});
  set.save(folder.path / "half.safetensors", {}, at::kHalf);
  const auto file = formats::Checkpoint::open(folder.path / "half.safetensors");
  for (const auto& [name, view] : file->tensors()) CHECK_MESSAGE(view.dtype == formats::Dtype::F16, name);
}

TEST_CASE("several_files_add_up_on_one_model") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.network_dim = 2});
  fill(set);
  set.save(folder.path / "a.safetensors", {});
  const auto file = formats::Checkpoint::open(folder.path / "a.safetensors");

  TinyModel other;
  const at::Tensor base = other.attention.forward(kInput);
  const auto first = AdapterSet::from_file(other.targets(), *file);
  const auto second = AdapterSet::from_file(other.targets(), *file);
  const at::Tensor one = model.attention.forward(kInput) - base;
  second->set_multiplier(0.5);
  CHECK((other.attention.forward(kInput) - base - one * 1.5).abs().max().item<double>() < 1e-5);
  first->set_multiplier(0.0);
  second->set_multiplier(0.0);
  CHECK(other.attention.forward(kInput).equal(base));
}

TEST_CASE("merged_weights_give_what_the_adapters_gave") {
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.network_dim = 2, .conv_dim = 2});
  fill(set);
  set.set_multiplier(0.7);
  const at::Tensor expected = model.attention.forward(kInput);
  set.merge(0.7);
  CHECK_FALSE(model.attention.has_adapters());
  CHECK((model.attention.forward(kInput) - expected).abs().max().item<double>() < 1e-5);
}

TEST_CASE("loading_into_a_set_reports_what_did_not_fit") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet text_only("lora", model.targets(), {.train_unet = false});
  fill(text_only);
  text_only.save(folder.path / "te.safetensors", {});
  TinyModel other;
  AdapterSet unet("lora", other.targets(), {});
  const LoadReport both = unet.load(*formats::Checkpoint::open(folder.path / "te.safetensors"));
  CHECK(both.loaded == 1);
  CHECK(both.missing == std::vector<std::string>{"lora_unet_mid_to_q"});
  CHECK(both.unmatched.empty());
  TinyModel third;
  AdapterSet unet_only("lora", third.targets(), {.train_text_encoder = false});
  const LoadReport none = unet_only.load(*formats::Checkpoint::open(folder.path / "te.safetensors"));
  CHECK(none.loaded == 0);
  CHECK(none.unmatched.size() == 3);
}

TEST_CASE("a_file_for_another_family_is_refused") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {});
  set.save(folder.path / "a.safetensors", {});
  auto targets = TinyModel().targets();
  for (auto& target : targets) target.name = "lora_unet_double_blocks_0";
  CHECK_THROWS_WITH_AS(AdapterSet::from_file(targets, *formats::Checkpoint::open(folder.path / "a.safetensors")),
                       doctest::Contains("fits a layer of this model"), base::Error);
}
