#include "cinnabar/nn/module.h"

#include "cinnabar/nn/layer.h"

namespace cinnabar::nn {

namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() || name.empty() ? prefix + name : prefix + "." + name;
}

}  // namespace

void Module::each_parameter(const std::string& prefix, const TensorVisitor& visit) {
  for (auto& [name, parameter] : parameters_) {
    if (parameter->defined()) visit(join(prefix, name), *parameter);
  }
  for (auto& [name, child] : children_) child->each_parameter(join(prefix, name), visit);
}

void Module::each_module(const std::string& prefix, const std::function<void(const std::string&, Module&)>& visit) {
  visit(prefix, *this);
  for (auto& [name, child] : children_) child->each_module(join(prefix, name), visit);
}

void Module::each_layer(const std::string& prefix, const LayerVisitor& visit) {
  each_module(prefix, [&](const std::string& name, Module& module) {
    if (auto* layer = dynamic_cast<Layer*>(&module)) visit(name, *layer);
  });
}

void Module::to(at::ScalarType dtype) {
  each_parameter("", [&](const std::string&, at::Tensor& value) {
    if (!at::isFloatingType(value.scalar_type()) || value.scalar_type() == dtype) return;
    value = value.detach().to(dtype).set_requires_grad(value.requires_grad());
  });
}

void Module::to(at::Device device) {
  each_parameter("", [&](const std::string&, at::Tensor& value) {
    if (value.device() == device) return;
    value = value.detach().to(device).set_requires_grad(value.requires_grad());
  });
}

void Module::requires_grad(bool on) {
  each_parameter("", [&](const std::string&, at::Tensor& value) {
    if (at::isFloatingType(value.scalar_type())) value.set_requires_grad(on);
  });
}

void Module::train(bool on) {
  each_module("", [&](const std::string&, Module& module) { module.is_training_ = on; });
}

void Module::set_checkpointing(bool on) {
  each_module("", [&](const std::string&, Module& module) { module.checkpointing_ = on; });
}

}  // namespace cinnabar::nn
