#include "cinnabar/adapters/adapter_set.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>

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

TEST_CASE("text_encoders_with_rates_of_their_own_get_groups_of_their_own") {
  TinyModel model;
  nn::Linear second{8, 6};
  second.weight = at::zeros({6, 8});
  std::vector<models::AdapterTarget> targets = model.targets();
  targets[0].name = "lora_te1_fc1";
  targets.insert(targets.begin() + 1, {"lora_te2_fc1", "text_encoder_2", &second});
  AdapterSet set("lora", targets, {});
  const auto apart = set.parameter_groups({.unet = 1e-3, .text_encoder = 9.0, .text_encoders = {2e-4, 1e-4}});
  REQUIRE(apart.size() == 3);
  CHECK(apart[0].label == "textencoder 1");
  CHECK(apart[0].lr == 2e-4);
  CHECK(apart[1].label == "textencoder 2");
  CHECK(apart[1].lr == 1e-4);
  const auto together = set.parameter_groups({.unet = 1e-3, .text_encoders = {2e-4}});
  REQUIRE(together.size() == 2);
  CHECK(together[0].label == "textencoder");
  CHECK(together[0].lr == 2e-4);
  CHECK(together[0].parameters.size() == 4);
  const auto first_only = set.parameter_groups({.unet = 1e-3, .text_encoders = {2e-4, 0.0}});
  REQUIRE(first_only.size() == 2);
  CHECK(first_only[1].label == "unet");
  CHECK_FALSE(set.parameters().at(2).value->requires_grad());
}

TEST_CASE("blocks_have_ranks_groups_and_rates_of_their_own") {
  TinyModel model;
  std::vector<models::AdapterTarget> targets = model.targets();
  targets[1].name = "lora_unet_down_blocks_1_attentions_0_proj_in";  // block 4
  targets[2].name = "lora_unet_mid_block_resnets_0_conv1";           // block 12
  AdapterOptions options{.network_dim = 2, .loraplus_unet_lr_ratio = 3.0};
  options.blocks.dims = std::vector<int64_t>(25, 5);
  options.blocks.conv_dims = std::vector<int64_t>(25, 1);
  options.blocks.down = BlockWeights{.curve = "zeros", .added = 0.5};
  AdapterSet set("lora", targets, options);
  REQUIRE(set.size() == 3);
  CHECK(set.parameters().at(0).value->size(0) == 2);  // the text encoder keeps network_dim
  CHECK(set.parameters().at(2).value->size(0) == 5);
  CHECK(set.parameters().at(4).value->size(0) == 1);
  const auto groups = set.parameter_groups({.unet = 1e-3, .text_encoder = 1e-4});
  REQUIRE(groups.size() == 5);
  CHECK(groups[1].label == "unet_block4");
  CHECK(groups[1].lr == doctest::Approx(5e-4));
  CHECK(groups[2].label == "unet_block4 plus");
  CHECK(groups[2].lr == doctest::Approx(1.5e-3));
  CHECK(groups[3].label == "unet_block12");
  CHECK(groups[3].lr == doctest::Approx(1e-3));

  TinyModel other;
  targets[0].layer = &other.text;
  targets[1].layer = &other.attention;
  targets[2].layer = &other.resnet;
  options.blocks.down = BlockWeights{.curve = "zeros"};
  CHECK(AdapterSet("lora", targets, options).size() == 2);
  CHECK_FALSE(other.attention.has_adapters());
}

TEST_CASE("blocks_are_refused_for_a_model_that_has_none") {
  TinyModel model;
  AdapterOptions options;
  options.blocks.dims = std::vector<int64_t>(25, 5);
  CHECK_THROWS_WITH_AS(AdapterSet("lora", model.targets(), options), doctest::Contains("block_dims"), base::Error);
}

TEST_CASE("norms_over_the_limit_are_scaled_to_it_and_others_left_alone") {
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.network_dim = 2, .network_alpha = {3.0, true}, .conv_dim = 2});
  fill(set);
  const auto norm_of = [](const NamedParameter& down, const NamedParameter& up, double scale) {
    return up.value->flatten(1).mm(down.value->flatten(1)).norm().item<double>() * scale;
  };
  const auto parameters = set.parameters();
  const double text = norm_of(parameters[0], parameters[1], 1.5);
  const double unet = norm_of(parameters[2], parameters[3], 1.5);
  const double conv = norm_of(parameters[4], parameters[5], 0.5);
  REQUIRE(conv < text * 0.9);
  const at::Tensor conv_before = parameters[5].value->detach().clone();
  const double most = conv * 1.01;
  const auto report = set.limit_norms(most);
  REQUIRE(report);
  CHECK(report->scaled == 2);
  CHECK(report->largest == doctest::Approx(most).epsilon(1e-5));
  CHECK(report->average == doctest::Approx((2.0 * most + conv) / 3.0).epsilon(1e-5));
  CHECK(norm_of(parameters[0], parameters[1], 1.5) == doctest::Approx(most).epsilon(1e-5));
  CHECK(norm_of(parameters[2], parameters[3], 1.5) == doctest::Approx(most).epsilon(1e-5));
  CHECK(unet > most);
  CHECK(parameters[5].value->detach().equal(conv_before));
  CHECK(set.limit_norms(most)->scaled == 0);
}

TEST_CASE("a_new_adapter_has_norm_0_and_stays_finite") {
  TinyModel model;
  AdapterSet set("lora", model.targets(), {});
  const auto report = set.limit_norms(1.0);
  REQUIRE(report);
  CHECK(report->scaled == 0);
  CHECK(report->largest == 0.0);
  for (const NamedParameter& parameter : set.parameters()) CHECK(parameter.value->isfinite().all().item<bool>());
}

TEST_CASE("ckpt_files_hold_the_tensors_without_metadata") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.network_dim = 2, .network_alpha = {1.0, true}});
  fill(set);
  set.save(folder.path / "a.ckpt", {{"ss_network_dim", "2"}}, at::kHalf);
  set.save(folder.path / "a.safetensors", {}, at::kHalf);
  const auto file = formats::Checkpoint::open(folder.path / "a.ckpt");
  const auto same = formats::Checkpoint::open(folder.path / "a.safetensors");
  CHECK(file->metadata().empty());
  REQUIRE(file->tensors().size() == same->tensors().size());
  for (const auto& [name, view] : same->tensors()) {
    const formats::TensorView& found = file->at(name);
    CHECK(found.dtype == view.dtype);
    CHECK(found.shape == view.shape);
    CHECK(std::equal(found.bytes.begin(), found.bytes.end(), view.bytes.begin(), view.bytes.end()));
  }
}

TEST_CASE("layers_are_found_under_their_diffusers_names_too") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.network_dim = 2});
  fill(set);
  set.save(folder.path / "a.safetensors", {});
  TinyModel other;
  std::vector<models::AdapterTarget> targets = other.targets();
  targets[1].diffusers_name = targets[1].name;
  targets[1].name = "lora_unet_middle_block_1_to_q";
  LoadReport report;
  const auto file = formats::Checkpoint::open(folder.path / "a.safetensors");
  const auto restored = AdapterSet::from_file(targets, *file, {}, &report);
  CHECK(report.unmatched.empty());
  CHECK(other.attention.forward(kInput).equal(model.attention.forward(kInput)));
  CHECK(restored->file_tensors().at(3).first == "lora_unet_middle_block_1_to_q.alpha");
}

TEST_CASE("a_network_made_from_a_file_has_the_trained_parts_alone") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {.network_dim = 3});
  set.save(folder.path / "a.safetensors", {});
  TinyModel other;
  LoadReport report;
  const auto file = formats::Checkpoint::open(folder.path / "a.safetensors");
  const auto unet = AdapterSet::from_file(other.targets(), *file, {.train_text_encoder = false}, &report);
  CHECK(unet->size() == 1);
  CHECK(report.unmatched.empty());
  CHECK(unet->parameters().at(0).value->size(0) == 3);
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

TEST_CASE("parts_of_a_layer_that_its_adapter_does_not_know_are_reported") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {});
  auto tensors = set.file_tensors(std::nullopt);
  tensors.emplace_back("lora_unet_mid_to_q.dora_scale", at::ones({6, 1}));
  AdapterSet::write_file(folder.path / "dora.safetensors", tensors, {});
  const LoadReport report = set.load(*formats::Checkpoint::open(folder.path / "dora.safetensors"));
  CHECK(report.loaded == 2);
  CHECK(report.unmatched == std::vector<std::string>{"lora_unet_mid_to_q.dora_scale"});

  AdapterSet::write_file(folder.path / "full.safetensors", {{"lora_unet_mid_to_q.diff", at::ones({6, 8})}}, {});
  const LoadReport full = set.load(*formats::Checkpoint::open(folder.path / "full.safetensors"));
  CHECK(full.loaded == 0);
  CHECK(full.unmatched == std::vector<std::string>{"lora_unet_mid_to_q.diff"});
}

TEST_CASE("faults_of_a_layer_name_file_and_tensor") {
  const TemporaryFolder folder;
  TinyModel model;
  AdapterSet set("lora", model.targets(), {});
  auto tensors = set.file_tensors(std::nullopt);
  for (auto& [name, value] : tensors) {
    if (name == "lora_unet_mid_to_q.alpha") value = at::ones({3});
  }
  AdapterSet::write_file(folder.path / "alpha.safetensors", tensors, {});
  const auto file = formats::Checkpoint::open(folder.path / "alpha.safetensors");
  const auto message = doctest::Contains(
      "alpha.safetensors: adapter tensor lora_unet_mid_to_q.alpha has shape [3] in the file, expected a single number");
  CHECK_THROWS_WITH_AS(set.load(*file), message, base::Error);
  TinyModel other;
  CHECK_THROWS_WITH_AS(AdapterSet::from_file(other.targets(), *file), message, base::Error);
}
