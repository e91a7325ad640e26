// What every kind of adapter must do.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "cinnabar/adapters/layer_adapter.h"
#include "cinnabar/adapters/registry.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::adapters;

void fill_weights(nn::Layer& layer) {
  layer.weight = at::sin(at::arange(layer.weight.numel(), at::kFloat)).reshape(layer.weight.sizes());
  layer.bias = at::zeros({layer.weight.size(0)});
}

// A trained adapter: every tensor holds numbers.
std::shared_ptr<LayerAdapter> trained(const AdapterFactory& factory, const nn::Layer& layer) {
  const AdapterOptions options{.network_dim = 2, .network_alpha = {1.0, true}, .conv_dim = 2};
  const auto adapter = factory.create({"lora_unet_x", false, layer, options, std::make_shared<StepContext>()});
  REQUIRE(adapter != nullptr);
  const at::NoGradGuard no_grad;
  for (const auto& [suffix, value] : adapter->trainable()) {
    value->copy_(at::cos(at::arange(value->numel(), at::kFloat)).reshape(value->sizes()));
  }
  return adapter;
}

AdapterTensors file_of(const LayerAdapter& adapter) {
  AdapterTensors tensors;
  for (const auto& [suffix, value] : adapter.file_tensors()) tensors[suffix] = value.clone();
  return tensors;
}

}  // namespace

TEST_CASE("every_kind_restores_bit_by_bit_from_its_own_file") {
  nn::Linear linear(8, 6);
  nn::Conv2d conv({.in = 4, .out = 6});
  for (nn::Layer* layer : std::initializer_list<nn::Layer*>{&linear, &conv}) {
    fill_weights(*layer);
    for (const std::string& name : adapter_factories().names()) {
      const AdapterFactory& factory = adapter_factories().at(name);
      const auto adapter = trained(factory, *layer);
      const AdapterTensors file = file_of(*adapter);
      REQUIRE(factory.recognises(file));
      const AdapterOptions options;
      const auto restored = factory.restore({"x", false, *layer, options, std::make_shared<StepContext>()}, file);
      const AdapterTensors again = file_of(*restored);
      REQUIRE(again.size() == file.size());
      for (const auto& [suffix, value] : file) {
        CHECK_MESSAGE(again.at(suffix).equal(value), suffix);
        CHECK_MESSAGE((again.at(suffix).scalar_type() == value.scalar_type()), suffix);
      }
      CHECK(restored->delta_weight(*layer).equal(adapter->delta_weight(*layer)));
    }
  }
}

TEST_CASE("every_kind_changes_the_output_as_its_delta_says") {
  nn::Linear layer(8, 6);
  fill_weights(layer);
  const at::Tensor x = at::linspace(-1.0, 1.0, 24).reshape({3, 8});
  for (const std::string& name : adapter_factories().names()) {
    const auto adapter = trained(adapter_factories().at(name), layer);
    const at::Tensor found = adapter->apply(layer, x, layer.base_forward(x));
    const at::Tensor expected = layer.base_forward(x) + at::linear(x, adapter->delta_weight(layer));
    CHECK_MESSAGE((found - expected).abs().max().item<double>() < 1e-5, name);
  }
}

TEST_CASE("every_kind_is_described_and_has_a_page") {
  CHECK(adapter_factories().names() == adapter_descriptions().names());
  for (const std::string& name : adapter_factories().names()) {
    const std::string page = adapter_factories().at(name).kind + ".md";
    CHECK_MESSAGE(std::filesystem::exists(std::filesystem::path(CINNABAR_TESTS_DIR) / "../docs/adapters" / page), page);
  }
}
