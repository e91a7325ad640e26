// Base of all network parts: named parameters and children, without torch::nn.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace cinnabar::nn {

class Layer;

// Members are registered once, in the constructor, under the original single-file names ("in_layers.0"). Modules do not
// move: lists of them hold std::unique_ptr.
class Module {
 public:
  using TensorVisitor = std::function<void(const std::string& name, at::Tensor& value)>;
  using LayerVisitor = std::function<void(const std::string& name, Layer& layer)>;

  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  // In registration order, names joined with dots below `prefix` (which may be empty).
  void each_parameter(const std::string& prefix, const TensorVisitor& visit);
  // Linear and convolution layers only: the points where adapters attach.
  void each_layer(const std::string& prefix, const LayerVisitor& visit);
  // All modules, this one included (its name is `prefix`).
  void each_module(const std::string& prefix, const std::function<void(const std::string&, Module&)>& visit);

  void to(at::ScalarType dtype);  // floating-point parameters only
  void to(at::Device device);
  void requires_grad(bool on);
  // Dropouts act, and gradient checkpointing is used, only while training.
  void train(bool on);
  bool is_training() const { return is_training_; }
  // Recompute this part's inner activations in backward (only parts that support it look at it).
  void set_checkpointing(bool on);
  bool checkpointing() const { return checkpointing_; }

 protected:
  void add(std::string name, at::Tensor& parameter) { parameters_.emplace_back(std::move(name), &parameter); }
  void add(std::string name, Module& child) { children_.emplace_back(std::move(name), &child); }

 private:
  std::vector<std::pair<std::string, at::Tensor*>> parameters_;
  std::vector<std::pair<std::string, Module*>> children_;
  bool is_training_ = false;
  bool checkpointing_ = false;
};

}  // namespace cinnabar::nn
