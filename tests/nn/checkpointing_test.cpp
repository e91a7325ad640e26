#include "cinnabar/nn/checkpointing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <map>

#include "cinnabar/nn/dropout.h"
#include "nn/small_unet.h"

namespace cinnabar::nn {

namespace {

// Drops inputs' sum in: gradients of its own parameter flow through a dropout mask.
class Dropping : public Adapter {
 public:
  explicit Dropping(int64_t width) : factor(at::full({width}, 0.5).set_requires_grad(true)) {}
  at::Tensor apply(const Layer&, const at::Tensor&, const at::Tensor& y) override {
    return y + keyed_dropout(y * factor, 0.3, 42);
  }
  at::Tensor delta_weight(const Layer& layer) const override { return at::zeros_like(layer.weight); }
  at::Tensor factor;
};

struct Gradients {
  at::Tensor loss;
  std::map<std::string, at::Tensor> parameters;
  at::Tensor context;
  at::Tensor adapter;
};

Gradients run_unet(bool is_checkpointing) {
  UNet unet(small_unet_config());
  set_initial_values(unet, "", 4);
  unet.requires_grad(true);
  unet.train(true);
  unet.set_checkpointing(is_checkpointing);
  const auto adapter = std::make_shared<Dropping>(16);
  unet.each_layer("", [&](const std::string& name, Layer& layer) {
    if (name == "middle_block.1.transformer_blocks.0.attn2.to_q") layer.attach(adapter);
  });
  at::manual_seed(0);
  const at::Tensor x = at::randn({2, 4, 7, 8});
  const at::Tensor t = at::tensor({10, 600}, at::kLong);
  at::Tensor context = at::randn({2, 5, 12}).set_requires_grad(true);
  at::Tensor loss;
  {
    const DropoutScope scope(DropoutKey{.seed = 1, .step = 2, .samples = {8, 9}});
    loss = unet.forward(x, t, context).pow(2).mean();
  }
  loss.backward();  // outside of the scope: recomputing must bring the key along
  Gradients gradients{.loss = loss.detach(), .context = context.grad(), .adapter = adapter->factor.grad()};
  unet.each_parameter("",
                      [&](const std::string& name, at::Tensor& value) { gradients.parameters[name] = value.grad(); });
  return gradients;
}

}  // namespace

TEST_CASE("recomputing changes no bit of loss and gradients, dropout included") {
  const Gradients plain = run_unet(false);
  const Gradients recomputed = run_unet(true);
  CHECK(at::equal(plain.loss, recomputed.loss));
  CHECK(at::equal(plain.context, recomputed.context));
  CHECK(at::equal(plain.adapter, recomputed.adapter));
  REQUIRE(plain.parameters.size() == recomputed.parameters.size());
  for (const auto& [name, gradient] : plain.parameters) {
    CAPTURE(name);
    REQUIRE(gradient.defined());
    REQUIRE(recomputed.parameters.at(name).defined());
    CHECK(at::equal(gradient, recomputed.parameters.at(name)));
  }
}

TEST_CASE("captured parameters get gradients though no input requires one") {
  const at::Tensor w = at::full({3}, 2.0).set_requires_grad(true);
  const at::Tensor y = run_segment(true, [&](const auto& inputs) { return inputs[0] * w; }, {at::ones({3})});
  CHECK(y.requires_grad());
  y.sum().backward();
  CHECK(at::equal(w.grad(), at::ones({3})));
}

TEST_CASE("the segment runs again in backward, and only there") {
  int runs = 0;
  const Segment segment = [&](const std::vector<at::Tensor>& inputs) {
    ++runs;
    return inputs[0].exp() * inputs[1];
  };
  const at::Tensor a = at::ones({2}).set_requires_grad(true);
  const at::Tensor b = at::ones({2});
  const at::Tensor y = run_segment(true, segment, {a, b});
  CHECK(runs == 1);
  y.sum().backward();
  CHECK(runs == 2);
  CHECK(a.grad().defined());
  CHECK_FALSE(b.grad().defined());
  const at::NoGradGuard no_gradients;
  CHECK_FALSE(run_segment(true, segment, {a, b}).requires_grad());
  CHECK(runs == 3);
}

TEST_CASE("activations inside are not kept") {
  // A segment of one exp saves its result; recomputed, only its input lives on.
  const at::Tensor a = at::ones({4}).set_requires_grad(true);
  auto inner = at::ones({1}).storage().getWeakStorageImpl();
  const auto segment = [&](const std::vector<at::Tensor>& inputs) {
    const at::Tensor h = inputs[0].exp();
    inner = h.storage().getWeakStorageImpl();
    return h.exp();
  };
  const at::Tensor kept = run_segment(false, segment, {a});
  CHECK_FALSE(inner.expired());
  const at::Tensor recomputed = run_segment(true, segment, {a});
  CHECK(inner.expired());
}

TEST_CASE("a recomputed segment hands its gradient on with the strides of the plain one") {
  std::vector<std::vector<int64_t>> strides;
  for (const bool is_recomputed : {false, true}) {
    const at::Tensor leaf = at::ones({3, 4}).set_requires_grad(true);
    const at::Tensor input = leaf * 2.0;
    input.register_hook([&](const at::Tensor& gradient) { strides.push_back(gradient.strides().vec()); });
    const Segment transposed = [](const std::vector<at::Tensor>& inputs) { return inputs[0].t(); };
    (run_segment(is_recomputed, transposed, {input}) * at::arange(12.0).view({4, 3})).sum().backward();
    CHECK(leaf.grad().equal(2.0 * at::arange(12.0).view({4, 3}).t()));
  }
  CHECK(strides.size() == 2);
  CHECK(strides[0] == std::vector<int64_t>{1, 3});
  CHECK(strides[0] == strides[1]);
}

TEST_CASE("recomputing changes no bit where frozen layers leave out what is not needed") {
  const auto run = [](bool is_checkpointing) {
    UNet unet(small_unet_config());
    set_initial_values(unet, "", 4);
    unet.requires_grad(false);
    unet.train(true);
    unet.set_checkpointing(is_checkpointing);
    at::manual_seed(0);
    at::Tensor x = at::randn({2, 4, 8, 8}).set_requires_grad(true);
    at::Tensor context = at::randn({2, 5, 12}).set_requires_grad(true);
    const at::Tensor loss = unet.forward(x, at::tensor({10, 600}, at::kLong), context).pow(2).mean();
    loss.backward();
    return std::vector<at::Tensor>{loss.detach(), x.grad(), context.grad()};
  };
  const std::vector<at::Tensor> plain = run(false);
  const std::vector<at::Tensor> recomputed = run(true);
  for (size_t i = 0; i < plain.size(); ++i) CHECK(at::equal(plain[i], recomputed[i]));
}

TEST_CASE("what a segment keeps is computed once, and kept without a graph") {
  int computed = 0;
  const Segment segment = [&](const std::vector<at::Tensor>& inputs) {
    const std::vector<at::Tensor> kept = kept_or_computed([&] {
      ++computed;
      return std::vector<at::Tensor>{inputs[0].detach() * 3.0};
    });
    CHECK_FALSE(kept[0].requires_grad());
    return inputs[0] * kept[0];
  };
  const at::Tensor x = at::full({2}, 2.0).set_requires_grad(true);
  run_segment(true, segment, {x}).sum().backward();
  CHECK(computed == 1);
  CHECK(at::equal(x.grad(), at::full({2}, 6.0)));
  CHECK_FALSE(is_recomputing());
  run_segment(false, segment, {x}).sum().backward();
  CHECK(computed == 2);
}

}  // namespace cinnabar::nn
