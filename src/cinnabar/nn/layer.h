// Linear and convolution layers with the points where adapters attach (design.md 1.4: layers know adapters).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cinnabar/nn/frozen_layer.h"
#include "cinnabar/nn/module.h"

namespace cinnabar::nn {

// What an adapter must know of the layer that it attaches to.
struct LayerShape {
  bool is_convolution = false;
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 1;  // square
  int64_t stride = 1;
  int64_t padding = 0;
};

class Layer;

// One adapter on one layer. Several may be attached; each gets the output of those before it.
class Adapter {
 public:
  virtual ~Adapter() = default;
  // x: the layer's input; y: its output so far. Returns the new output, shaped and typed like y, which may have taken
  // over the storage of y: callers use y no more.
  virtual at::Tensor apply(const Layer& layer, const at::Tensor& x, const at::Tensor& y) = 0;
  // True: what apply() does to a linear layer or a 1x1 convolution of input x is to add `update`, in fp32, or nothing
  // when it stays empty; layers with frozen weights then compute both in one pass.
  virtual bool is_factored(const at::Tensor& /*x*/, std::optional<LowRank>& /*update*/) const { return false; }
  // Change of the weight at multiplier 1, shaped like layer.weight, fp32; for merging and for tests.
  virtual at::Tensor delta_weight(const Layer& layer) const = 0;
};

class Layer : public Module {
 public:
  at::Tensor weight;  // linear [out, in]; convolution [out, in, k, k]
  at::Tensor bias;    // [out], or undefined

  virtual LayerShape shape() const = 0;
  // The layer without adapters. The weight is cast to x's dtype when it is stored in another one.
  virtual at::Tensor base_forward(const at::Tensor& x) const = 0;
  // With adapters, plus `sum`.
  at::Tensor forward(const at::Tensor& x, const LayerSum& sum = {}) const;

  void attach(std::shared_ptr<Adapter> adapter) { adapters_.push_back(std::move(adapter)); }
  void detach(const Adapter& adapter);
  void detach_all() { adapters_.clear(); }
  bool has_adapters() const { return !adapters_.empty(); }

 protected:
  // For weights and inputs that is_frozen_on_cpu() accepts.
  virtual at::Tensor frozen_forward(const at::Tensor& x, const LowRank* low_rank, const LayerSum& sum) const = 0;
  virtual bool takes_low_rank() const = 0;

 private:
  std::vector<std::shared_ptr<Adapter>> adapters_;
};

class Linear : public Layer {
 public:
  Linear(int64_t in, int64_t out, bool has_bias = true);
  LayerShape shape() const override;
  at::Tensor base_forward(const at::Tensor& x) const override;  // [..., in] -> [..., out]

 protected:
  at::Tensor frozen_forward(const at::Tensor& x, const LowRank* low_rank, const LayerSum& sum) const override;
  bool takes_low_rank() const override { return true; }

 private:
  int64_t in_;
  int64_t out_;
};

struct ConvOptions {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 1;
};

class Conv2d : public Layer {
 public:
  explicit Conv2d(const ConvOptions& options);
  LayerShape shape() const override;
  // [B, in, H, W] -> [B, out, H', W']; channels last with frozen weights on the CPU in fp32.
  at::Tensor base_forward(const at::Tensor& x) const override;

 protected:
  at::Tensor frozen_forward(const at::Tensor& x, const LowRank* low_rank, const LayerSum& sum) const override;
  bool takes_low_rank() const override { return options_.kernel == 1 && options_.stride == 1 && options_.padding == 0; }

 private:
  ConvOptions options_;
};

}  // namespace cinnabar::nn
