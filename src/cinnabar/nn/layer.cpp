#include "cinnabar/nn/layer.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

namespace cinnabar::nn {

namespace {

// Undefined stays undefined; a tensor of the right type is given back as it is.
at::Tensor cast_like(const at::Tensor& value, const at::Tensor& x) {
  return value.defined() && value.scalar_type() != x.scalar_type() ? value.to(x.scalar_type()) : value;
}

}  // namespace

void Layer::detach(const Adapter& adapter) {
  std::erase_if(adapters_, [&](const std::shared_ptr<Adapter>& held) { return held.get() == &adapter; });
}

at::Tensor Layer::forward(const at::Tensor& x) const {
  at::Tensor y = base_forward(x);
  for (const std::shared_ptr<Adapter>& adapter : adapters_) y = adapter->apply(*this, x, y);
  return y;
}

Linear::Linear(int64_t in, int64_t out, bool has_bias) : in_(in), out_(out) {
  weight = at::empty({out, in});
  if (has_bias) bias = at::empty({out});
  add("weight", weight);
  add("bias", bias);
}

LayerShape Linear::shape() const { return {.in = in_, .out = out_}; }

at::Tensor Linear::base_forward(const at::Tensor& x) const {
  return at::linear(x, cast_like(weight, x), cast_like(bias, x));
}

Conv2d::Conv2d(const ConvOptions& options) : options_(options) {
  weight = at::empty({options.out, options.in, options.kernel, options.kernel});
  bias = at::empty({options.out});
  add("weight", weight);
  add("bias", bias);
}

LayerShape Conv2d::shape() const {
  return {.is_convolution = true,
          .in = options_.in,
          .out = options_.out,
          .kernel = options_.kernel,
          .stride = options_.stride,
          .padding = options_.padding};
}

at::Tensor Conv2d::base_forward(const at::Tensor& x) const {
  return at::conv2d(x, cast_like(weight, x), cast_like(bias, x), options_.stride, options_.padding);
}

}  // namespace cinnabar::nn
