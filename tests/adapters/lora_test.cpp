#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "cinnabar/adapters/layer_adapter.h"

#include <cmath>

#include "cinnabar/base/error.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::adapters;

const AdapterFactory& lora() { return adapter_factories().at("networks.lora"); }

std::shared_ptr<LayerAdapter> make(const nn::Layer& layer, const AdapterOptions& options, bool is_extended = false,
                                   std::shared_ptr<const StepContext> context = std::make_shared<StepContext>()) {
  return lora().create({"lora_unet_x", is_extended, layer, options, std::move(context)});
}

at::Tensor tensor_named(const LayerAdapter& adapter, const std::string& suffix) {
  for (const auto& [name, value] : adapter.file_tensors()) {
    if (name == suffix) return value;
  }
  return {};
}

// Gives the up matrix numbers, which starts at zero.
void fill_up(LayerAdapter& adapter) {
  const at::NoGradGuard no_grad;
  at::Tensor& up = *adapter.trainable().at(1).second;
  up.copy_(at::linspace(-0.5, 0.5, up.numel()).reshape(up.sizes()));
}

void fill_base(nn::Layer& layer) {
  layer.weight = at::sin(at::arange(layer.weight.numel(), at::kFloat)).reshape(layer.weight.sizes());
  layer.bias = at::zeros({layer.weight.size(0)});
}

}  // namespace

TEST_CASE("starts_as_no_change_with_down_within_one_over_root_of_the_inputs") {
  nn::Conv2d layer({.in = 8, .out = 6});
  fill_base(layer);
  const auto adapter = make(layer, {.conv_dim = 4});
  const at::Tensor down = tensor_named(*adapter, "lora_down.weight");
  const double bound = 1.0 / std::sqrt(8.0 * 9.0);
  CHECK(down.sizes() == at::IntArrayRef{4, 8, 3, 3});
  CHECK(down.abs().max().item<double>() <= bound);
  CHECK(down.abs().max().item<double>() > 0.9 * bound);
  CHECK(tensor_named(*adapter, "lora_up.weight").abs().max().item<double>() == 0.0);
  CHECK(adapter->delta_weight(layer).abs().max().item<double>() == 0.0);
}

TEST_CASE("initial_values_depend_on_the_seed_and_the_name") {
  const nn::Linear layer(8, 6);
  const auto down = [&](uint64_t seed, const std::string& name) {
    const AdapterOptions options{.seed = seed};
    return tensor_named(*lora().create({name, false, layer, options, std::make_shared<StepContext>()}),
                        "lora_down.weight");
  };
  CHECK(down(1, "a").equal(down(1, "a")));
  CHECK_FALSE(down(1, "a").equal(down(2, "a")));
  CHECK_FALSE(down(1, "a").equal(down(1, "b")));
}

TEST_CASE("forward_equals_the_merged_weight_at_every_multiplier") {
  nn::Linear linear(8, 6);
  nn::Conv2d conv({.in = 8, .out = 6, .stride = 2});
  const auto check = [](nn::Layer& layer, const at::Tensor& x) {
    fill_base(layer);
    const auto adapter = make(layer, {.network_dim = 3, .network_alpha = {2.0, true}, .conv_dim = 2});
    fill_up(*adapter);
    layer.attach(adapter);
    const at::Tensor weight = layer.weight;
    for (const double multiplier : {1.0, 0.7, -0.5, 0.0}) {
      adapter->multiplier = multiplier;
      layer.weight = weight;
      const at::Tensor attached = layer.forward(x);
      layer.weight = weight + adapter->delta_weight(layer) * multiplier;
      const at::Tensor merged = layer.base_forward(x);
      CHECK((attached - merged).abs().max().item<double>() < 2e-5);  // sums of 72 products in fp32
    }
  };
  check(linear, at::cos(at::arange(2 * 5 * 8, at::kFloat)).reshape({2, 5, 8}));
  check(conv, at::cos(at::arange(2 * 8 * 6 * 6, at::kFloat)).reshape({2, 8, 6, 6}));
}

TEST_CASE("convolution_rank_decides_what_is_wrapped") {
  const nn::Conv2d large({.in = 8, .out = 6});
  const nn::Conv2d small({.in = 8, .out = 6, .kernel = 1, .padding = 0});
  const nn::Linear linear(8, 6);
  const AdapterOptions plain{.network_dim = 4};
  CHECK(make(large, plain) == nullptr);
  CHECK(make(linear, plain, true) == nullptr);
  CHECK(make(small, plain) != nullptr);
  const AdapterOptions both{.network_dim = 4, .conv_dim = 2};
  CHECK(tensor_named(*make(large, both, true), "lora_down.weight").size(0) == 2);
  CHECK(tensor_named(*make(small, both, true), "lora_down.weight").size(0) == 4);
  CHECK(tensor_named(*make(linear, both, true), "lora_down.weight").size(0) == 4);
}

TEST_CASE("alpha_keeps_the_type_that_it_was_given_with") {
  const nn::Linear layer(8, 6);
  const nn::Conv2d conv({.in = 8, .out = 6});
  CHECK((tensor_named(*make(layer, {.network_alpha = {2.0, true}}), "alpha").scalar_type() == at::kLong));
  CHECK((tensor_named(*make(layer, {.network_alpha = {2.0, false}}), "alpha").scalar_type() == at::kFloat));
  CHECK((tensor_named(*make(conv, {.conv_dim = 2}), "alpha").scalar_type() == at::kFloat));
  // 0 stands for the rank.
  const at::Tensor zero = tensor_named(*make(layer, {.network_dim = 3, .network_alpha = {0.0, false}}), "alpha");
  CHECK(zero.item<double>() == 3.0);
}

TEST_CASE("loads_any_alpha_type_and_takes_the_rank_without_one") {
  nn::Linear layer(8, 6);
  fill_base(layer);
  const AdapterOptions options;
  const AdapterTensors file{{"lora_down.weight", at::ones({2, 8})}, {"lora_up.weight", at::ones({6, 2})}};
  const auto scale_of = [&](const AdapterTensors& tensors) {
    const auto adapter = lora().restore({"x", false, layer, options, std::make_shared<StepContext>()}, tensors);
    return adapter->delta_weight(layer)[0][0].item<double>() / 2.0;
  };
  CHECK(scale_of(file) == 1.0);
  for (const at::ScalarType type : {at::kLong, at::kHalf, at::kBFloat16, at::kDouble, at::kFloat}) {
    AdapterTensors with_alpha = file;
    with_alpha["alpha"] = at::scalar_tensor(4, type);
    CHECK(scale_of(with_alpha) == 2.0);
  }
}

TEST_CASE("one_by_one_convolutions_take_linear_matrices_and_the_reverse") {
  nn::Conv2d conv({.in = 8, .out = 6, .kernel = 1, .padding = 0});
  const AdapterOptions options;
  const AdapterTensors file{{"lora_down.weight", at::ones({2, 8})}, {"lora_up.weight", at::ones({6, 2})}};
  const auto adapter = lora().restore({"x", false, conv, options, std::make_shared<StepContext>()}, file);
  CHECK(tensor_named(*adapter, "lora_down.weight").sizes() == at::IntArrayRef{2, 8, 1, 1});
}

TEST_CASE("a_file_for_another_model_is_refused_with_both_shapes") {
  const nn::Linear layer(8, 6);
  const AdapterOptions options;
  const AdapterTensors file{{"lora_down.weight", at::ones({2, 9})}, {"lora_up.weight", at::ones({6, 2})}};
  CHECK_THROWS_WITH_AS(
      lora().restore({"lora_unet_x", false, layer, options, std::make_shared<StepContext>()}, file),
      doctest::Contains("lora_unet_x.lora_down.weight has shape [2, 9] in the file, the layer expects [2, 8]"),
      base::Error);
}

TEST_CASE("dropouts_act_in_training_only_and_repeat_within_a_step") {
  nn::Linear layer(8, 6);
  fill_base(layer);
  const auto context = std::make_shared<StepContext>();
  const auto adapter = make(layer, {.network_dropout = 0.5}, false, context);
  fill_up(*adapter);
  layer.attach(adapter);
  const at::Tensor x = at::ones({2, 5, 8});
  const at::Tensor plain = layer.forward(x);
  *context = {.is_training = true, .seed = 1, .step = 3, .samples = {4, 9}};
  const at::Tensor first = layer.forward(x);
  CHECK_FALSE(first.equal(plain));
  CHECK(first.equal(layer.forward(x)));
  context->step = 4;
  CHECK_FALSE(first.equal(layer.forward(x)));
}

TEST_CASE("a_dropped_module_gives_the_layer_alone") {
  nn::Linear layer(8, 6);
  fill_base(layer);
  const auto context = std::make_shared<StepContext>(StepContext{.is_training = true, .samples = {1}});
  const auto adapter = make(layer, {.module_dropout = 1.0}, false, context);
  fill_up(*adapter);
  layer.attach(adapter);
  const at::Tensor x = at::ones({1, 8});
  CHECK(layer.forward(x).equal(layer.base_forward(x)));
}

TEST_CASE("a_parameter_may_become_a_view_of_a_flat_buffer") {
  nn::Linear layer(8, 6);
  fill_base(layer);
  const auto adapter = make(layer, {.network_dim = 2});
  layer.attach(adapter);
  fill_up(*adapter);
  at::Tensor& down = *adapter->trainable().at(0).second;
  at::Tensor values = at::full({16}, 0.5);
  at::Tensor gradients = at::zeros({16});
  {
    const at::NoGradGuard no_grad;
    down = values.view({2, 8}).detach().requires_grad_(true);
    down.mutable_grad() = gradients.view({2, 8});
  }
  layer.forward(at::ones({3, 8})).sum().backward();
  CHECK(gradients.abs().max().item<double>() > 0.0);
  CHECK(down.grad().data_ptr() == gradients.data_ptr());
}

TEST_CASE("a_file_without_a_rank_is_refused") {
  const nn::Linear layer(8, 6);
  const AdapterOptions options;
  for (const at::Tensor& down : {at::ones({}), at::ones({8}), at::ones({0, 8})}) {
    const AdapterTensors file{{"lora_down.weight", down}, {"lora_up.weight", at::ones({6, 2})}};
    CHECK_THROWS_AS(lora().restore({"x", false, layer, options, std::make_shared<StepContext>()}, file), base::Error);
  }
}

TEST_CASE("a_layer_that_adds_the_update_in_its_own_pass_gives_what_apply_gives") {
  const auto check = [](nn::Layer& layer, const at::Tensor& x0, const AdapterOptions& options) {
    fill_base(layer);
    const auto context =
        std::make_shared<StepContext>(StepContext{.is_training = true, .seed = 3, .step = 5, .samples = {7, 8}});
    const auto adapter = make(layer, options, false, context);
    fill_up(*adapter);
    adapter->multiplier = 0.7;
    const auto run = [&](bool is_one_pass) {
      for (const auto& [name, value] : adapter->trainable()) value->mutable_grad() = at::Tensor();
      const at::Tensor x = x0.clone().requires_grad_(true);
      layer.detach_all();
      at::Tensor y;
      if (is_one_pass) {
        layer.attach(adapter);
        y = layer.forward(x);
      } else {
        y = adapter->apply(layer, x, layer.base_forward(x));
      }
      y.pow(2).sum().backward();
      std::vector<at::Tensor> result{y.detach(), x.grad()};
      for (const auto& [name, value] : adapter->trainable()) result.push_back(value->grad());
      return result;
    };
    const std::vector<at::Tensor> one_pass = run(true);
    const std::vector<at::Tensor> apart = run(false);
    for (size_t i = 0; i < apart.size(); ++i) {
      const double size = apart[i].abs().max().item<double>();
      CHECK((one_pass[i] - apart[i]).abs().max().item<double>() < 3e-6 * size);  // sums in another order
    }
  };
  nn::Linear linear(8, 6);
  nn::Conv2d pointwise({.in = 8, .out = 6, .kernel = 1, .padding = 0});
  const at::Tensor rows = at::cos(at::arange(2 * 5 * 8, at::kFloat)).reshape({2, 5, 8});
  const at::Tensor map = at::cos(at::arange(2 * 8 * 3 * 4, at::kFloat)).reshape({2, 8, 3, 4});
  for (const AdapterOptions& options :
       {AdapterOptions{.network_dim = 3, .network_alpha = {2.0, true}},
        AdapterOptions{.network_dim = 3, .network_dropout = 0.3, .rank_dropout = 0.3}}) {
    check(linear, rows, options);
    check(pointwise, map, options);
  }
}
