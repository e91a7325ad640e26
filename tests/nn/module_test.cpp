#include "cinnabar/nn/module.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/nn/layer.h"
#include "cinnabar/nn/norm.h"

namespace cinnabar::nn {

namespace {

class Pair : public Module {
 public:
  Pair() : first_(2, 3), second_(3) {
    add("in.0", first_);
    add("out", second_);
  }
  Linear first_;
  LayerNorm second_;
};

}  // namespace

TEST_CASE("parameters are named below the prefix, in registration order") {
  Pair pair;
  std::vector<std::string> names;
  pair.each_parameter("model", [&](const std::string& name, at::Tensor&) { names.push_back(name); });
  CHECK(names ==
        std::vector<std::string>{"model.in.0.weight", "model.in.0.bias", "model.out.weight", "model.out.bias"});
  std::vector<std::string> layers;
  pair.each_layer("", [&](const std::string& name, Layer&) { layers.push_back(name); });
  CHECK(layers == std::vector<std::string>{"in.0"});
}

TEST_CASE("casting keeps whether gradients are wanted, and leaves stay leaves") {
  Pair pair;
  pair.requires_grad(true);
  pair.to(at::kBFloat16);
  CHECK((pair.first_.weight.scalar_type() == at::kBFloat16));
  CHECK(pair.first_.weight.requires_grad());
  CHECK(pair.first_.weight.is_leaf());
}

TEST_CASE("training and checkpointing reach all modules below") {
  Pair pair;
  CHECK_FALSE(pair.first_.is_training());
  pair.train(true);
  pair.set_checkpointing(true);
  CHECK(pair.first_.is_training());
  CHECK(pair.second_.checkpointing());
}

}  // namespace cinnabar::nn
