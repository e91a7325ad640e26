// One adapter on one layer, and the registry of what makes them.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/adapters/adapter_options.h"
#include "cinnabar/adapters/step_context.h"
#include "cinnabar/base/registry.h"
#include "cinnabar/nn/layer.h"

namespace cinnabar::adapters {

// Suffix ("lora_down.weight") -> tensor, of one layer's adapter.
using AdapterTensors = std::map<std::string, at::Tensor>;

// 0-d double tensors on the adapter's device, so that nothing waits for the device.
struct NormLimit {
  at::Tensor norm;   // of the update of the weight, after scaling
  at::Tensor ratio;  // what it was scaled by; 1: left alone
};

class LayerAdapter : public nn::Adapter {
 public:
  // In the reference tool's parameter order. The pointers stay valid while the adapter lives; what they point at may be
  // replaced by a view into a flat buffer, and is read anew in every forward.
  virtual std::vector<std::pair<std::string, at::Tensor*>> trainable() = 0;
  // Everything that the file holds, scalars included, as kept in memory.
  virtual std::vector<std::pair<std::string, at::Tensor>> file_tensors() const = 0;
  // Copies values into the existing tensors; the scale follows a given alpha, and alpha = rank without one. Throws
  // Error{Format} that names the layer when a tensor is missing or has another shape.
  virtual void load(const AdapterTensors& tensors) = 0;

  // Scales the parameters down so that the Frobenius norm of the update at multiplier 1 is at most `most`
  // (sd-scripts, scale_weight_norms). Nothing: this kind cannot.
  virtual std::optional<NormLimit> limit_norm(double /*most*/) { return std::nullopt; }

  double multiplier = 1.0;  // 0 switches the adapter off
};

struct LayerRequest {
  std::string name;          // full adapter name
  bool is_extended = false;  // models::AdapterTarget
  const nn::Layer& layer;
  const AdapterOptions& options;
  std::shared_ptr<const StepContext> context;  // never null
  // What block_dims and the rates of blocks give to this layer, over the general options; rank 0: no adapter.
  std::optional<LayerRank> block_rank{};
};

// What the layer gets; nothing leaves it alone. As in the reference tool: convolutions larger than 1x1 take conv_dim,
// everything else network_dim, also in the layers that conv_dim adds.
std::optional<LayerRank> rank_of(const LayerRequest& request);

struct AdapterFactory {
  std::string kind;  // the first of its names
  // For training. Null: this kind leaves the layer alone.
  std::function<std::shared_ptr<LayerAdapter>(const LayerRequest&)> create;
  // Whether tensors of one layer are of this kind.
  std::function<bool(const AdapterTensors&)> recognises;
  // With rank and scale of the tensors; options give dropouts only. Throws as LayerAdapter::load does.
  std::function<std::shared_ptr<LayerAdapter>(const LayerRequest&, const AdapterTensors&)> restore;
};

base::Registry<AdapterFactory>& adapter_factories();
bool register_factory(std::initializer_list<std::string> names, const AdapterFactory& factory);

}  // namespace cinnabar::adapters

#define CINNABAR_REGISTER_ADAPTER_FACTORY(identifier, ...) \
  static const bool registered_factory_##identifier = ::cinnabar::adapters::register_factory(__VA_ARGS__)
