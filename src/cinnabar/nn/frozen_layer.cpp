#include "cinnabar/nn/frozen_layer.h"

#include <optional>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/checkpointing.h"
#include "cinnabar/nn/cpu_gemm.h"
#include "cinnabar/tensor/half_compute.h"
#include "cinnabar/tensor/parallel.h"

namespace cinnabar::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool is_plain(const at::Tensor& value) {
  if (!value.defined()) return true;
  const bool has_type =
      value.scalar_type() == at::kFloat || value.scalar_type() == at::kHalf || value.scalar_type() == at::kBFloat16;
  return has_type && value.is_cpu() && value.layout() == at::kStrided && !value.requires_grad();
}

// A weight that is stored in 16 bits, widened for the time of a call. It lies in memory that stays with the thread,
// since large pieces that the system gives anew each time cost more than the numbers; the next call overwrites it.
at::Tensor wide_weight(const at::Tensor& stored) {
  if (stored.scalar_type() == at::kFloat) return stored;
  const at::Tensor dense = stored.is_non_overlapping_and_dense() ? stored : stored.contiguous();
  float* const memory = tensor::thread_scratch(tensor::Scratch::Weight, dense.numel());
  at::Tensor result = at::from_blob(memory, dense.sizes(), dense.strides(), at::TensorOptions().dtype(at::kFloat));
  return result.copy_(dense);
}

// The machinery of autograd functions takes no undefined tensors.
std::optional<at::Tensor> optional(const at::Tensor& value) {
  return value.defined() ? std::optional(value) : std::nullopt;
}

bool needs_gradient(const std::optional<at::Tensor>& value) { return value && value->requires_grad(); }

const float* data_of(const at::Tensor& value) { return value.defined() ? value.const_data_ptr<float>() : nullptr; }

// T rows of x together.
int64_t rows_of(const at::Tensor& x) { return x.size(-1) == 0 ? 0 : x.numel() / x.size(-1); }

// x w' with w [columns, depth] in rows.
GemmTerm times_transposed(const at::Tensor& x, const at::Tensor& w) {
  const int64_t depth = w.size(1);
  return {.a = x.const_data_ptr<float>(),
          .a_row = depth,
          .b = w.const_data_ptr<float>(),
          .b_depth = 1,
          .b_column = depth,
          .depth = depth};
}

// x w with w [depth, columns].
GemmTerm times(const at::Tensor& x, const at::Tensor& w) {
  return {.a = x.const_data_ptr<float>(),
          .a_row = w.size(0),
          .b = w.const_data_ptr<float>(),
          .b_depth = w.size(1),
          .depth = w.size(0)};
}

// x' y of x [T, r] and y [T, n]: [r, n].
at::Tensor product_over_rows(const at::Tensor& x, const at::Tensor& y) {
  const int64_t rank = x.size(-1);
  const int64_t width = y.size(-1);
  at::Tensor result = at::empty({rank, width}, y.options());
  Gemm gemm{.rows = rank, .columns = width, .c = result.mutable_data_ptr<float>(), .c_row = width};
  gemm.terms[0] = {.a = x.const_data_ptr<float>(),
                   .a_row = 1,
                   .a_depth = rank,
                   .b = y.const_data_ptr<float>(),
                   .b_depth = width,
                   .depth = rows_of(x)};
  multiply(*cpu_kernels(), gemm);
  return result;
}

// One term of T rows: [T, columns].
at::Tensor product_of(const GemmTerm& term, int64_t rows, int64_t columns, const at::TensorOptions& options) {
  at::Tensor result = at::empty({rows, columns}, options);
  Gemm gemm{.rows = rows, .columns = columns, .c = result.mutable_data_ptr<float>(), .c_row = columns};
  gemm.terms[0] = term;
  multiply(*cpu_kernels(), gemm);
  return result;
}

// T rows, r rank. Forward: state = scale * mask * (x down'), y = x w' + state up' + bias + add.
struct FrozenLinear : torch::autograd::Function<FrozenLinear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_x, const std::optional<at::Tensor>& add,
                            const std::optional<at::Tensor>& down, const std::optional<at::Tensor>& up,
                            const at::Tensor& stored_weight, const std::optional<at::Tensor>& bias,
                            const std::optional<at::Tensor>& mask, double scale, bool is_unused) {
    RECORD_FUNCTION("cinnabar::frozen_linear", std::vector<c10::IValue>());
    const at::Tensor x = given_x.contiguous();
    const at::Tensor more = add ? add->contiguous() : at::Tensor();
    const int64_t rows = rows_of(x);
    const int64_t out = stored_weight.size(0);
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.back() = out;
    at::Tensor y = at::empty(sizes, x.options());
    Gemm gemm{.rows = rows,
              .columns = out,
              .c = y.mutable_data_ptr<float>(),
              .c_row = out,
              .bias = data_of(bias.value_or(at::Tensor())),
              .add = data_of(more),
              .add_row = out};
    at::Tensor state;
    if (down) {
      state = product_of(times_transposed(x, *down), rows, down->size(0), x.options()).mul_(scale);  // [T, r]
      if (mask) state.mul_(mask->reshape(state.sizes()));
      gemm.terms[1] = times_transposed(state, *up);
      gemm.term_count = 2;
    }
    if (!is_unused) {
      const at::Tensor weight = wide_weight(stored_weight);
      gemm.terms[0] = times_transposed(x, weight);
      multiply(*cpu_kernels(), gemm);
    }
    context->save_for_backward({needs_gradient(down) ? x : at::Tensor(), needs_gradient(up) ? state : at::Tensor(),
                                down.value_or(at::Tensor()), up.value_or(at::Tensor()), stored_weight,
                                mask.value_or(at::Tensor())});
    context->saved_data["scale"] = scale;
    context->saved_data["needs_x"] = given_x.requires_grad();
    context->saved_data["needs_add"] = needs_gradient(add);
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_FUNCTION("cinnabar::frozen_linear_backward", std::vector<c10::IValue>());
    enum Input : size_t { kX, kAdd, kDown, kUp, kInputs = 9 };
    variable_list result(kInputs);
    if (!gradients[0].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& state = saved[1];
    const at::Tensor& down = saved[2];
    const at::Tensor& up = saved[3];
    const at::Tensor weight = wide_weight(saved[4]);
    const at::Tensor g = gradients[0].contiguous();  // [..., out]
    const int64_t rows = rows_of(g);
    const bool needs_x = context->saved_data["needs_x"].toBool();
    if (context->saved_data["needs_add"].toBool()) result[kAdd] = gradients[0];
    if (state.defined()) result[kUp] = product_over_rows(state, g).t();  // state holds the scale
    at::Tensor state_gradient;
    if (down.defined() && (needs_x || x.defined())) {
      state_gradient = product_of(times(g, up), rows, up.size(1), g.options());
      state_gradient.mul_(context->saved_data["scale"].toDouble());
      if (saved[5].defined()) state_gradient.mul_(saved[5].reshape(state_gradient.sizes()));
      if (x.defined()) result[kDown] = product_over_rows(state_gradient, x);
    }
    if (!needs_x) return result;
    std::vector<int64_t> sizes = g.sizes().vec();
    sizes.back() = weight.size(1);
    result[kX] = at::empty(sizes, g.options());
    Gemm gemm{
        .rows = rows, .columns = weight.size(1), .c = result[kX].mutable_data_ptr<float>(), .c_row = weight.size(1)};
    gemm.terms[0] = times(g, weight);
    if (state_gradient.defined()) {
      gemm.terms[1] = times(state_gradient, down);
      gemm.term_count = 2;
    }
    multiply(*cpu_kernels(), gemm);
    return result;
  }
};

ConvShape shape_of(at::IntArrayRef x, at::IntArrayRef weight, int64_t stride, int64_t padding) {
  return {.batch = x[0],
          .height = x[2],
          .width = x[3],
          .in = weight[1],
          .out = weight[0],
          .kernel = weight[2],
          .stride = stride,
          .padding = padding};
}

struct FrozenConvolution : torch::autograd::Function<FrozenConvolution> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_x, const std::optional<at::Tensor>& add,
                            const std::optional<at::Tensor>& row_bias, const at::Tensor& stored_weight,
                            const std::optional<at::Tensor>& bias, int64_t stride, int64_t padding, bool is_unused) {
    RECORD_FUNCTION("cinnabar::frozen_convolution", std::vector<c10::IValue>());
    const at::Tensor x = given_x.contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor more = add ? add->contiguous(at::MemoryFormat::ChannelsLast) : at::Tensor();
    const ConvShape shape = shape_of(x.sizes(), stored_weight.sizes(), stride, padding);
    at::Tensor y = at::empty({shape.batch, shape.out, shape.out_height(), shape.out_width()}, x.options(),
                             at::MemoryFormat::ChannelsLast);
    if (!is_unused) {
      ConvSum sum{.bias = data_of(bias.value_or(at::Tensor())), .add = data_of(more)};
      at::Tensor biases;  // [B, out]
      if (row_bias && shape.is_winograd()) {
        biases = (bias ? *row_bias + *bias : *row_bias).contiguous();
        sum.bias = data_of(biases);
        sum.bias_batch = shape.out;
      }
      convolve(*cpu_kernels(), shape, data_of(x), data_of(wide_weight(stored_weight)), sum,
               y.mutable_data_ptr<float>());
      if (row_bias && !shape.is_winograd()) y.add_(row_bias->unsqueeze(2).unsqueeze(3));
    }
    context->save_for_backward({stored_weight});
    context->saved_data["x"] = x.sizes().vec();
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["needs_x"] = given_x.requires_grad();
    context->saved_data["needs_add"] = needs_gradient(add);
    context->saved_data["needs_row_bias"] = needs_gradient(row_bias);
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_FUNCTION("cinnabar::frozen_convolution_backward", std::vector<c10::IValue>());
    enum Input : size_t { kX, kAdd, kRowBias, kInputs = 8 };
    variable_list result(kInputs);
    if (!gradients[0].defined()) return result;
    if (context->saved_data["needs_add"].toBool()) result[kAdd] = gradients[0];
    if (context->saved_data["needs_row_bias"].toBool()) result[kRowBias] = gradients[0].sum({2, 3});
    if (!context->saved_data["needs_x"].toBool()) return result;
    const at::Tensor g = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor weight = wide_weight(context->get_saved_variables()[0]);
    const std::vector<int64_t> sizes = context->saved_data["x"].toIntVector();
    const ConvShape shape =
        shape_of(sizes, weight.sizes(), context->saved_data["stride"].toInt(), context->saved_data["padding"].toInt());
    result[kX] = at::empty(sizes, g.options(), at::MemoryFormat::ChannelsLast);
    convolve_back(*cpu_kernels(), shape, data_of(g), data_of(weight), result[kX].mutable_data_ptr<float>());
    return result;
  }
};

at::Tensor channels_to_end(const at::Tensor& x) { return x.defined() ? x.permute({0, 2, 3, 1}) : x; }

}  // namespace

bool is_frozen_on_cpu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return cpu_kernels() != nullptr && x.is_cpu() && x.scalar_type() == at::kFloat && is_plain(weight) && is_plain(bias);
}

at::Tensor frozen_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const LowRank* low_rank,
                         const LayerSum& sum) {
  const bool is_unused = sum.is_last && is_recomputing();
  CINNABAR_ASSERT(x.dim() > 0 && x.size(-1) == weight.size(1));
  const at::Tensor matrix = weight.is_contiguous() ? weight : weight.contiguous();
  if (low_rank == nullptr) {
    return FrozenLinear::apply(x, optional(sum.add), std::optional<at::Tensor>(), std::optional<at::Tensor>(), matrix,
                               optional(tensor::in_float(bias)), std::optional<at::Tensor>(), 1.0, is_unused);
  }
  CINNABAR_ASSERT(low_rank->down.is_contiguous() && low_rank->up.is_contiguous());
  const auto flat = [](const at::Tensor& value) { return value.dim() == 2 ? value : value.flatten(1); };
  return FrozenLinear::apply(x, optional(sum.add), optional(flat(low_rank->down)), optional(flat(low_rank->up)), matrix,
                             optional(tensor::in_float(bias)), optional(low_rank->mask), low_rank->scale, is_unused);
}

at::Tensor frozen_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, int64_t stride,
                              int64_t padding, const LowRank* low_rank, const LayerSum& sum) {
  CINNABAR_ASSERT(x.dim() == 4 && x.size(1) == weight.size(1));
  const bool is_pointwise = weight.size(2) == 1 && stride == 1 && padding == 0;
  if (is_pointwise && !sum.row_bias.defined()) {
    const at::Tensor rows = x.contiguous(at::MemoryFormat::ChannelsLast).permute({0, 2, 3, 1});  // [B, H, W, in]
    LowRank own;
    if (low_rank != nullptr) {
      own = *low_rank;
      if (own.mask.defined()) own.mask = channels_to_end(own.mask).contiguous();
    }
    return frozen_linear(rows, weight.flatten(1), bias, low_rank == nullptr ? nullptr : &own,
                         {.add = channels_to_end(sum.add), .is_last = sum.is_last})
        .permute({0, 3, 1, 2});
  }
  CINNABAR_ASSERT(low_rank == nullptr);
  if (!weight.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    weight.set_data(weight.contiguous(at::MemoryFormat::ChannelsLast));
  }
  return FrozenConvolution::apply(x, optional(sum.add), optional(sum.row_bias), weight,
                                  optional(tensor::in_float(bias)), stride, padding, sum.is_last && is_recomputing());
}

}  // namespace cinnabar::nn
