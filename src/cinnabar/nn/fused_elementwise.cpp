#include "cinnabar/nn/fused_elementwise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/cpu_kernels.h"
#include "cinnabar/tensor/parallel.h"

namespace cinnabar::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Positions of a chunk: fixed, so that sums do not depend on the number of threads.
constexpr int64_t kPositions = 64;

// A tensor [B, C, H, W], channels last, in chunks of positions.
struct Chunks {
  int64_t batch, channels, positions, per_sample;

  explicit Chunks(at::IntArrayRef sizes)
      : batch(sizes[0]),
        channels(sizes[1]),
        positions(sizes[2] * sizes[3]),
        per_sample((positions + kPositions - 1) / kPositions) {}
  int64_t count() const { return batch * per_sample; }
  int64_t first(int64_t chunk) const { return chunk % per_sample * kPositions; }
  int64_t size(int64_t chunk) const { return std::min(kPositions, positions - first(chunk)); }
  int64_t sample(int64_t chunk) const { return chunk / per_sample; }
  int64_t offset(int64_t chunk) const { return (sample(chunk) * positions + first(chunk)) * channels; }
};

// Per sample and channel, fp32: what turns x into the normalised input, weight and bias included.
struct Affine {
  std::vector<float> scale, shift;
};

struct Moments {
  std::vector<double> mean, rstd;  // [B, groups]
};

// Means and squared distances of the chunks' channels, put together in double (Chan, Golub and LeVeque 1979).
Moments moments_of(const Chunks& chunks, const float* x, const GroupNormOptions& options) {
  const auto width = static_cast<size_t>(chunks.channels);
  float* const means = tensor::thread_scratch(tensor::Scratch::Sums, 2 * chunks.count() * chunks.channels);
  float* const squares = means + chunks.count() * chunks.channels;
  tensor::for_units(chunks.count(), [&](int64_t chunk) {
    const GroupNormChunk task{
        .x = x + chunks.offset(chunk), .positions = chunks.size(chunk), .channels = chunks.channels};
    cpu_kernels()->group_norm_moments(task, means + chunk * chunks.channels, squares + chunk * chunks.channels);
  });
  const auto groups = static_cast<size_t>(options.groups);
  const size_t group_width = width / groups;
  Moments result{std::vector<double>(static_cast<size_t>(chunks.batch) * groups),
                 std::vector<double>(static_cast<size_t>(chunks.batch) * groups)};
  for (int64_t b = 0; b < chunks.batch; ++b) {
    for (size_t group = 0; group < groups; ++group) {
      double sum = 0.0;
      for (int64_t chunk = b * chunks.per_sample; chunk < (b + 1) * chunks.per_sample; ++chunk) {
        const float* row = means + static_cast<size_t>(chunk) * width + group * group_width;
        for (size_t c = 0; c < group_width; ++c) sum += row[c] * static_cast<double>(chunks.size(chunk));
      }
      const double count = static_cast<double>(group_width) * static_cast<double>(chunks.positions);
      const double mean = sum / count;
      double square = 0.0;
      for (int64_t chunk = b * chunks.per_sample; chunk < (b + 1) * chunks.per_sample; ++chunk) {
        const size_t at = static_cast<size_t>(chunk) * width + group * group_width;
        for (size_t c = 0; c < group_width; ++c) {
          const double distance = means[at + c] - mean;
          square += squares[at + c] + distance * distance * static_cast<double>(chunks.size(chunk));
        }
      }
      const size_t index = static_cast<size_t>(b) * groups + group;
      result.mean[index] = mean;
      result.rstd[index] = 1.0 / std::sqrt(square / count + options.epsilon);
    }
  }
  return result;
}

Affine affine_of(const Chunks& chunks, const Moments& moments, const float* weight, const float* bias, int64_t groups) {
  const auto width = static_cast<size_t>(chunks.channels);
  const size_t group_width = width / static_cast<size_t>(groups);
  Affine result{std::vector<float>(static_cast<size_t>(chunks.batch) * width),
                std::vector<float>(static_cast<size_t>(chunks.batch) * width)};
  for (size_t i = 0; i < result.scale.size(); ++i) {
    const size_t c = i % width;
    const size_t index = i / width * static_cast<size_t>(groups) + c / group_width;
    const double scale = moments.rstd[index] * weight[c];
    result.scale[i] = static_cast<float>(scale);
    result.shift[i] = static_cast<float>(bias[c] - moments.mean[index] * scale);
  }
  return result;
}

GroupNormChunk chunk_task(const Chunks& chunks, int64_t chunk, const float* x, const Affine& affine, bool has_silu) {
  const int64_t row = chunks.sample(chunk) * chunks.channels;
  return {.x = x + chunks.offset(chunk),
          .positions = chunks.size(chunk),
          .channels = chunks.channels,
          .scale = affine.scale.data() + row,
          .shift = affine.shift.data() + row,
          .has_silu = has_silu};
}

// Gradient of x = by_gradient * (gradient of u) + by_x * x + constant, per sample and channel.
struct Combination {
  std::vector<float> by_gradient, by_x, constant;
};

// `sums` and `products`: per chunk and channel, of the gradient of u, and of it times (x - mean).
Combination combination_of(const Chunks& chunks, const Moments& moments, const float* weight, int64_t groups,
                           const float* sums, const float* products) {
  const auto width = static_cast<size_t>(chunks.channels);
  const size_t group_width = width / static_cast<size_t>(groups);
  const size_t all = static_cast<size_t>(chunks.batch) * width;
  Combination result{std::vector<float>(all), std::vector<float>(all), std::vector<float>(all)};
  const double count = static_cast<double>(group_width) * static_cast<double>(chunks.positions);
  for (size_t index = 0; index < moments.mean.size(); ++index) {
    const size_t b = index / static_cast<size_t>(groups);
    const size_t first = index % static_cast<size_t>(groups) * group_width;
    double sum = 0.0;
    double product = 0.0;
    for (size_t c = first; c < first + group_width; ++c) {
      double own_sum = 0.0;
      double own_product = 0.0;
      for (size_t chunk = 0; chunk < static_cast<size_t>(chunks.per_sample); ++chunk) {
        const size_t at = (b * static_cast<size_t>(chunks.per_sample) + chunk) * width + c;
        own_sum += sums[at];
        own_product += products[at];
      }
      sum += own_sum * weight[c];
      product += own_product * weight[c];
    }
    const double rstd = moments.rstd[index];
    const double by_x = -product / count * rstd * rstd * rstd;
    for (size_t c = first; c < first + group_width; ++c) {
      result.by_gradient[b * width + c] = static_cast<float>(rstd * weight[c]);
      result.by_x[b * width + c] = static_cast<float>(by_x);
      result.constant[b * width + c] = static_cast<float>(-by_x * moments.mean[index] - sum / count * rstd);
    }
  }
  return result;
}

at::Tensor stored(const Moments& moments) {
  const auto count = static_cast<int64_t>(moments.mean.size());
  at::Tensor result = at::empty({2, count}, at::TensorOptions().dtype(at::kDouble));
  std::copy(moments.mean.begin(), moments.mean.end(), result.mutable_data_ptr<double>());
  std::copy(moments.rstd.begin(), moments.rstd.end(), result.mutable_data_ptr<double>() + count);
  return result;
}

Moments restored(const at::Tensor& stored) {
  const double* data = stored.const_data_ptr<double>();
  const int64_t count = stored.size(1);
  return {std::vector<double>(data, data + count), std::vector<double>(data + count, data + 2 * count)};
}

struct FrozenGroupNorm : torch::autograd::Function<FrozenGroupNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_x, const at::Tensor& weight,
                            const at::Tensor& bias, int64_t groups, double epsilon, bool has_silu) {
    RECORD_FUNCTION("cinnabar::group_norm", std::vector<c10::IValue>());
    const at::Tensor x = given_x.contiguous(at::MemoryFormat::ChannelsLast);
    at::Tensor y = at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast);
    const Chunks chunks(x.sizes());
    const float* from = x.const_data_ptr<float>();
    const Moments moments = moments_of(chunks, from, {groups, epsilon, has_silu});
    const Affine affine =
        affine_of(chunks, moments, weight.const_data_ptr<float>(), bias.const_data_ptr<float>(), groups);
    float* to = y.mutable_data_ptr<float>();
    tensor::for_units(chunks.count(), [&](int64_t chunk) {
      GroupNormChunk task = chunk_task(chunks, chunk, from, affine, has_silu);
      task.y = to + chunks.offset(chunk);
      cpu_kernels()->group_norm_apply(task);
    });
    context->save_for_backward({x, weight, bias, stored(moments)});
    context->saved_data["groups"] = groups;
    context->saved_data["has_silu"] = has_silu;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_FUNCTION("cinnabar::group_norm_backward", std::vector<c10::IValue>());
    variable_list result(6);
    if (!gradients[0].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    const float* x = saved[0].const_data_ptr<float>();
    const float* weight = saved[1].const_data_ptr<float>();
    const int64_t groups = context->saved_data["groups"].toInt();
    const bool has_silu = context->saved_data["has_silu"].toBool();
    const Chunks chunks(saved[0].sizes());
    const Moments moments = restored(saved[3]);
    const Affine affine = affine_of(chunks, moments, weight, saved[2].const_data_ptr<float>(), groups);
    const at::Tensor g = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    result[0] = at::empty(saved[0].sizes(), saved[0].options(), at::MemoryFormat::ChannelsLast);
    float* to = result[0].mutable_data_ptr<float>();

    std::vector<float> centers(static_cast<size_t>(chunks.batch * chunks.channels));
    const int64_t group_width = chunks.channels / groups;
    for (int64_t i = 0; i < chunks.batch * chunks.channels; ++i) {
      const int64_t index = i / chunks.channels * groups + i % chunks.channels / group_width;
      centers[static_cast<size_t>(i)] = static_cast<float>(moments.mean[static_cast<size_t>(index)]);
    }
    float* const sums = tensor::thread_scratch(tensor::Scratch::Sums, 2 * chunks.count() * chunks.channels);
    float* const products = sums + chunks.count() * chunks.channels;
    const auto task_of = [&](int64_t chunk) {
      GroupNormChunk task = chunk_task(chunks, chunk, x, affine, has_silu);
      task.gradient = g.const_data_ptr<float>() + chunks.offset(chunk);
      task.y = to + chunks.offset(chunk);
      return task;
    };
    tensor::for_units(chunks.count(), [&](int64_t chunk) {
      cpu_kernels()->group_norm_sums(task_of(chunk), centers.data() + chunks.sample(chunk) * chunks.channels,
                                     sums + chunk * chunks.channels, products + chunk * chunks.channels);
    });
    const Combination by = combination_of(chunks, moments, weight, groups, sums, products);
    tensor::for_units(chunks.count(), [&](int64_t chunk) {
      const int64_t row = chunks.sample(chunk) * chunks.channels;
      cpu_kernels()->group_norm_combine(task_of(chunk), by.by_gradient.data() + row, by.by_x.data() + row,
                                        by.constant.data() + row);
    });
    return result;
  }
};

struct Gated : torch::autograd::Function<Gated> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_x) {
    RECORD_FUNCTION("cinnabar::gated", std::vector<c10::IValue>());
    const at::Tensor x = given_x.contiguous();
    const int64_t width = x.size(-1) / 2;
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.back() = width;
    at::Tensor y = at::empty(sizes, x.options());
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    tensor::for_ranges(y.numel() / std::max<int64_t>(width, 1), rows_at_once(width), [&](int64_t begin, int64_t end) {
      cpu_kernels()->gated_forward(from + begin * 2 * width, to + begin * width, end - begin, width);
    });
    context->save_for_backward({x});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_FUNCTION("cinnabar::gated_backward", std::vector<c10::IValue>());
    if (!gradients[0].defined()) return {at::Tensor()};
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor g = gradients[0].contiguous();
    const int64_t width = g.size(-1);
    at::Tensor result = at::empty(x.sizes(), x.options());
    const float* from = x.const_data_ptr<float>();
    const float* gradient = g.const_data_ptr<float>();
    float* to = result.mutable_data_ptr<float>();
    tensor::for_ranges(g.numel() / std::max<int64_t>(width, 1), rows_at_once(width), [&](int64_t begin, int64_t end) {
      cpu_kernels()->gated_backward(from + begin * 2 * width, gradient + begin * width, to + begin * 2 * width,
                                    end - begin, width);
    });
    return {result};
  }

  static int64_t rows_at_once(int64_t width) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(width, 1)); }
};

}  // namespace

at::Tensor frozen_group_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const GroupNormOptions& options) {
  CINNABAR_ASSERT(x.dim() == 4 && x.size(1) == weight.numel());
  return FrozenGroupNorm::apply(x, weight, bias, options.groups, options.epsilon, options.has_silu);
}

bool is_gate_fused(const at::Tensor& x) {
  return cpu_kernels() != nullptr && x.is_cpu() && x.scalar_type() == at::kFloat;
}

at::Tensor gated(const at::Tensor& x) {
  CINNABAR_ASSERT(x.dim() > 0 && x.size(-1) % 2 == 0);
  return Gated::apply(x);
}

}  // namespace cinnabar::nn
