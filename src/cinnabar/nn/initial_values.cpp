#include "cinnabar/nn/initial_values.h"

#include <cmath>

#include "cinnabar/nn/embedding.h"
#include "cinnabar/nn/layer.h"
#include "cinnabar/nn/norm.h"
#include "cinnabar/tensor/fill.h"

namespace cinnabar::nn {

namespace {

void set_layer(Layer& layer, const std::string& name, uint64_t seed) {
  const LayerShape shape = layer.shape();
  const float bound = 1.0F / std::sqrt(static_cast<float>(shape.in * shape.kernel * shape.kernel));
  tensor::fill_uniform_blocks(layer.weight, {.seed = seed, .item = tensor::name_key(name + ".weight")}, -bound, bound);
  if (layer.bias.defined()) {
    tensor::fill_uniform_blocks(layer.bias, {.seed = seed, .item = tensor::name_key(name + ".bias")}, -bound, bound);
  }
}

template <class Norm>
void set_norm(Norm& norm) {
  norm.weight.detach().fill_(1.0);
  norm.bias.detach().zero_();
}

}  // namespace

void set_initial_values(Module& module, const std::string& prefix, uint64_t seed) {
  module.each_module(prefix, [&](const std::string& name, Module& part) {
    if (auto* layer = dynamic_cast<Layer*>(&part)) set_layer(*layer, name, seed);
    if (auto* norm = dynamic_cast<GroupNorm*>(&part)) set_norm(*norm);
    if (auto* norm = dynamic_cast<LayerNorm*>(&part)) set_norm(*norm);
    if (auto* table = dynamic_cast<Embedding*>(&part)) {
      tensor::fill_normal_blocks(table->weight, {.seed = seed, .item = tensor::name_key(name + ".weight")},
                                 static_cast<float>(table->deviation()));
    }
  });
}

}  // namespace cinnabar::nn
