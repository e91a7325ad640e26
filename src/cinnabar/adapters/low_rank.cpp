#ifdef CINNABAR_ENGINE
#include "cinnabar/adapters/low_rank.h"

#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace cinnabar::adapters {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Order of the tensor inputs of both functions, for needs_input_grad.
enum Input : size_t { kInputX, kInputY, kInputDown, kInputUp };

// A tensor over y's storage that autograd takes for a new one. The version of y is raised, so that a node that saved y
// for its backward fails loudly instead of computing with changed values. Without dense storage: a copy.
at::Tensor take_over(const at::Tensor& y) {
  if (!y.is_non_overlapping_and_dense()) return y.clone();
  y.unsafeGetTensorImpl()->bump_version();
  return y.tensor_data();
}

// What is not needed by backward is not kept alive.
void save(AutogradContext* context, const at::Tensor& x, const at::Tensor& state, const at::Tensor& down,
          const at::Tensor& up, const at::Tensor& mask) {
  context->save_for_backward(
      {down.requires_grad() ? x : at::Tensor(), up.requires_grad() ? state : at::Tensor(), down, up, mask});
}

// B samples and positions together, r rank. y [B, out] += scale * (x down^T * mask) up^T.
struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y, const at::Tensor& down,
                            const at::Tensor& up, const std::optional<at::Tensor>& mask, double scale) {
    at::Tensor state = at::linear(x, down.to(x.scalar_type()));  // [..., r]
    if (mask) state.mul_(*mask);
    at::Tensor result = take_over(y);
    // For a y without a flat view (not contiguous) the product is added through a copy.
    const at::Tensor flat_state = state.reshape({-1, state.size(-1)});
    const at::Tensor up_t = up.to(x.scalar_type()).t();
    if (result.is_contiguous()) {
      result.view({-1, result.size(-1)}).addmm_(flat_state, up_t, 1.0, scale);
    } else {
      result.add_(flat_state.mm(up_t).reshape(result.sizes()), scale);
    }
    save(context, x, state, down, up, mask.value_or(at::Tensor()));
    context->saved_data["scale"] = scale;
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor& g = gradients[0];  // [..., out]
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& state = saved[1];
    const at::Tensor& down = saved[2];
    const at::Tensor& up = saved[3];
    const at::Tensor& mask = saved[4];
    const double scale = context->saved_data["scale"].toDouble();
    const at::Tensor flat_g = g.reshape({-1, g.size(-1)});
    variable_list result(6);
    if (context->needs_input_grad(kInputY)) result[kInputY] = g;
    if (context->needs_input_grad(kInputUp)) {
      const at::Tensor flat_state = state.reshape({-1, state.size(-1)});
      result[kInputUp] = flat_g.t().mm(flat_state).to(up.scalar_type()).mul_(scale);
    }
    if (!context->needs_input_grad(kInputX) && !context->needs_input_grad(kInputDown)) return result;
    at::Tensor g_state = flat_g.mm(up.to(g.scalar_type())).mul_(scale);  // [B, r]
    if (mask.defined()) {
      std::vector<int64_t> shape = g.sizes().vec();
      shape.back() = g_state.size(-1);
      g_state = g_state.view(shape).mul_(mask).view({-1, shape.back()});
    }
    if (context->needs_input_grad(kInputDown))
      result[kInputDown] = g_state.t().mm(x.reshape({-1, x.size(-1)})).to(down.scalar_type());
    if (context->needs_input_grad(kInputX)) {
      std::vector<int64_t> shape = g.sizes().vec();
      shape.back() = down.size(1);
      result[kInputX] = g_state.mm(down.to(g.scalar_type())).view(shape);
    }
    return result;
  }
};

// The same for y [B, out, H', W'] with a k x k convolution down and a 1x1 convolution up.
struct ConvFunction : torch::autograd::Function<ConvFunction> {
  static at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, int64_t stride, int64_t padding) {
    return at::convolution(x, weight, {}, {stride, stride}, {padding, padding}, {1, 1}, false, {0, 0}, 1);
  }

  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y, const at::Tensor& down,
                            const at::Tensor& up, const std::optional<at::Tensor>& mask, double scale, int64_t stride,
                            int64_t padding) {
    at::Tensor state = convolve(x, down.to(x.scalar_type()), stride, padding);  // [B, r, H', W']
    if (mask) state.mul_(*mask);
    at::Tensor result = take_over(y);
    result.add_(convolve(state, up.to(x.scalar_type()), 1, 0), scale);
    save(context, x, state, down, up, mask.value_or(at::Tensor()));
    context->saved_data["scale"] = scale;
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    if (!down.requires_grad() && x.requires_grad()) context->saved_data["x_sizes"] = x.sizes().vec();
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor& g = gradients[0];  // [B, out, H', W']
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& down = saved[2];
    const at::Tensor& up = saved[3];
    const at::Tensor& mask = saved[4];
    const double scale = context->saved_data["scale"].toDouble();
    const int64_t stride = context->saved_data["stride"].toInt();
    const int64_t padding = context->saved_data["padding"].toInt();
    const bool needs_state = context->needs_input_grad(kInputX) || context->needs_input_grad(kInputDown);
    variable_list result(8);
    if (context->needs_input_grad(kInputY)) result[kInputY] = g;
    // convolution_backward reads only the shape of what it does not differentiate by.
    at::Tensor state = saved[1];
    if (!state.defined()) state = g.new_empty({1}).expand({g.size(0), up.size(1), g.size(2), g.size(3)});
    auto [g_state, g_up, unused] =
        at::convolution_backward(g, state, up.to(g.scalar_type()), at::OptionalIntArrayRef(), {1, 1}, {0, 0}, {1, 1},
                                 false, {0, 0}, 1, {needs_state, context->needs_input_grad(kInputUp), false});
    if (g_up.defined()) result[kInputUp] = g_up.to(up.scalar_type()).mul_(scale);
    if (!needs_state) return result;
    g_state.mul_(scale);
    if (mask.defined()) g_state.mul_(mask);
    at::Tensor x = saved[0];
    if (!x.defined()) x = g.new_empty({1}).expand(context->saved_data["x_sizes"].toIntVector());
    auto [g_x, g_down, unused_too] = at::convolution_backward(
        g_state, x, down.to(g.scalar_type()), at::OptionalIntArrayRef(), {stride, stride}, {padding, padding}, {1, 1},
        false, {0, 0}, 1, {context->needs_input_grad(kInputX), context->needs_input_grad(kInputDown), false});
    result[kInputX] = g_x;
    if (g_down.defined()) result[kInputDown] = g_down.to(down.scalar_type());
    return result;
  }
};

// The machinery of autograd functions takes no undefined tensors.
std::optional<at::Tensor> optional(const at::Tensor& value) {
  return value.defined() ? std::optional(value) : std::nullopt;
}

}  // namespace

at::Tensor add_low_rank_linear(const at::Tensor& x, const at::Tensor& y, const LowRankUpdate& update) {
  return LinearFunction::apply(x, y, update.down, update.up, optional(update.mask), update.scale);
}

at::Tensor add_low_rank_conv(const at::Tensor& x, const at::Tensor& y, const LowRankUpdate& update, int64_t stride,
                             int64_t padding) {
  return ConvFunction::apply(x, y, update.down, update.up, optional(update.mask), update.scale, stride, padding);
}

}  // namespace cinnabar::adapters
#endif
