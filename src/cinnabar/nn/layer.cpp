#include "cinnabar/nn/layer.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/linear.h>

#include "cinnabar/tensor/half_compute.h"

namespace cinnabar::nn {

namespace {

// Undefined stays undefined; a tensor of the right type is given back as it is.
at::Tensor cast_like(const at::Tensor& value, const at::Tensor& x) {
  return value.defined() && value.scalar_type() != x.scalar_type() ? value.to(x.scalar_type()) : value;
}

// For weights that are trained: whether one large matrix product beats the library's convolution on the CPU: it
// re-orders the weights at each call, which is most of the work where many weights meet few positions (measured 1.5 to
// 3 times slower there).
bool is_better_as_product(const at::Tensor& x, const at::Tensor& weight, int64_t positions) {
  constexpr int64_t kManyWeights = 4'000'000;
  constexpr int64_t kFewPositions = 512;
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && weight.size(2) > 1 && weight.numel() >= kManyWeights &&
         positions <= kFewPositions;
}

// B batch, C and O channels in and out, k kernel, L positions of the result. The same sums as at::conv2d in another
// order.
at::Tensor convolve_as_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                               const ConvOptions& options, at::IntArrayRef result_shape) {
  const int64_t batch = x.size(0);
  at::Tensor columns = at::im2col(x, {options.kernel, options.kernel}, {1, 1}, {options.padding, options.padding},
                                  {options.stride, options.stride});                    // [B, C k k, L]
  columns = columns.transpose(0, 1).reshape({columns.size(1), -1});                     // [C k k, B L]
  const at::Tensor product = at::addmm(bias.unsqueeze(1), weight.flatten(1), columns);  // [O, B L]
  return product.view({options.out, batch, -1}).transpose(0, 1).reshape(result_shape);
}

}  // namespace

void Layer::detach(const Adapter& adapter) {
  std::erase_if(adapters_, [&](const std::shared_ptr<Adapter>& held) { return held.get() == &adapter; });
}

at::Tensor Layer::forward(const at::Tensor& x, const LayerSum& sum) const {
  std::optional<LowRank> update;
  const bool is_one_pass =
      is_frozen_on_cpu(x, weight, bias) &&
      (adapters_.empty() || (adapters_.size() == 1 && takes_low_rank() && adapters_[0]->is_factored(x, update)));
  if (is_one_pass) return frozen_forward(x, update ? &*update : nullptr, sum);
  at::Tensor y = base_forward(x);
  if (sum.row_bias.defined()) y = y + sum.row_bias.unsqueeze(2).unsqueeze(3);  // [B, out, 1, 1]
  for (const std::shared_ptr<Adapter>& adapter : adapters_) y = adapter->apply(*this, x, y);
  return sum.add.defined() ? sum.add + y : y;
}

Linear::Linear(int64_t in, int64_t out, bool has_bias) : in_(in), out_(out) {
  weight = at::empty({out, in});
  if (has_bias) bias = at::empty({out});
  add("weight", weight);
  add("bias", bias);
}

LayerShape Linear::shape() const { return {.in = in_, .out = out_}; }

at::Tensor Linear::frozen_forward(const at::Tensor& x, const LowRank* low_rank, const LayerSum& sum) const {
  return frozen_linear(x, weight, bias, low_rank, sum);
}

at::Tensor Linear::base_forward(const at::Tensor& x) const {
  if (is_frozen_on_cpu(x, weight, bias)) return frozen_forward(x, nullptr, {});
  if (tensor::is_half_slow(x))
    return at::linear(tensor::in_float(x), tensor::in_float(weight), tensor::in_float(bias)).to(x.scalar_type());
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

at::Tensor Conv2d::frozen_forward(const at::Tensor& x, const LowRank* low_rank, const LayerSum& sum) const {
  return frozen_convolution(x, weight, bias, options_.stride, options_.padding, low_rank, sum);
}

at::Tensor Conv2d::base_forward(const at::Tensor& x) const {
  if (is_frozen_on_cpu(x, weight, bias)) return frozen_forward(x, nullptr, {});
  if (tensor::is_half_slow(x)) return base_forward(tensor::in_float(x)).to(x.scalar_type());
  const at::Tensor w = cast_like(weight, x);
  const at::Tensor b = cast_like(bias, x);
  const auto side = [&](int64_t length) {
    return (length + 2 * options_.padding - options_.kernel) / options_.stride + 1;
  };
  const int64_t height = side(x.size(2));
  const int64_t width = side(x.size(3));
  if (is_better_as_product(x, w, x.size(0) * height * width)) {
    return convolve_as_product(x, w, b, options_, {x.size(0), options_.out, height, width});
  }
  return at::conv2d(x, w, b, options_.stride, options_.padding);
}

}  // namespace cinnabar::nn
