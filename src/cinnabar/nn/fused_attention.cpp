#include "cinnabar/nn/fused_attention.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/checkpointing.h"
#include "cinnabar/nn/cpu_kernels.h"
#include "cinnabar/tensor/parallel.h"

namespace cinnabar::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Attention task_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads) {
  const int64_t width = q.size(2) / heads;
  return {.batch = q.size(0),
          .heads = heads,
          .queries = q.size(1),
          .keys = k.size(1),
          .width = width,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(width))),
          .q = q.const_data_ptr<float>(),
          .k = k.const_data_ptr<float>(),
          .v = v.const_data_ptr<float>()};
}

// The result, and for each query and head the logarithm of its sum of exponentials.
std::vector<at::Tensor> mixed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads) {
  const CpuKernels& kernels = *cpu_kernels();
  at::Tensor result = at::empty_like(q);
  at::Tensor logarithms = at::empty({q.size(0), heads, q.size(1)}, q.options());
  Attention task = task_of(q, k, v, heads);
  task.result = result.mutable_data_ptr<float>();
  task.logarithms = logarithms.mutable_data_ptr<float>();
  const int64_t all_heads = task.batch * heads;
  const int64_t packed_size = kernels.attention_packed(task);
  float* const packed = tensor::thread_scratch(tensor::Scratch::Shared, all_heads * packed_size);
  tensor::for_units(all_heads, [&](int64_t head) { kernels.attention_pack(task, head, packed + head * packed_size); });
  const int64_t blocks = (task.queries + kernels.attention_rows - 1) / kernels.attention_rows;
  tensor::for_units(all_heads * blocks, [&](int64_t unit) {
    const int64_t head = unit / blocks;
    const int64_t begin = unit % blocks * kernels.attention_rows;
    kernels.attention_forward(task, head, begin, std::min(task.queries, begin + kernels.attention_rows),
                              packed + head * packed_size,
                              tensor::thread_scratch(tensor::Scratch::Kernel, kernels.attention_scratch(task)));
  });
  return {result, logarithms};
}

struct FusedAttention : torch::autograd::Function<FusedAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_q, const at::Tensor& given_k,
                            const at::Tensor& given_v, int64_t heads) {
    RECORD_FUNCTION("cinnabar::attention", std::vector<c10::IValue>());
    const at::Tensor q = given_q.contiguous();
    const at::Tensor k = given_k.contiguous();
    const at::Tensor v = given_v.contiguous();
    // Dear for many keys: then a recomputation takes over what the forward pass had.
    constexpr int64_t kManyKeys = 2048;
    const auto compute = [&] { return mixed(q, k, v, heads); };
    std::vector<at::Tensor> both = k.size(1) >= kManyKeys ? kept_or_computed(compute) : compute();
    const at::Tensor& result = both[0];
    const at::Tensor& logarithms = both[1];
    context->save_for_backward({q, k, v, result, logarithms});
    context->saved_data["heads"] = heads;
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_FUNCTION("cinnabar::attention_backward", std::vector<c10::IValue>());
    variable_list result(4);
    if (!gradients[0].defined()) return result;
    const CpuKernels& kernels = *cpu_kernels();
    const variable_list saved = context->get_saved_variables();
    const at::Tensor g = gradients[0].contiguous();
    for (size_t i = 0; i < 3; ++i) result[i] = at::empty_like(saved[i]);
    Attention task = task_of(saved[0], saved[1], saved[2], context->saved_data["heads"].toInt());
    // Only read in backward.
    task.result = const_cast<float*>(saved[3].const_data_ptr<float>());
    task.logarithms = const_cast<float*>(saved[4].const_data_ptr<float>());
    task.gradient = g.const_data_ptr<float>();
    task.q_gradient = result[0].mutable_data_ptr<float>();
    task.k_gradient = result[1].mutable_data_ptr<float>();
    task.v_gradient = result[2].mutable_data_ptr<float>();
    tensor::for_units(task.batch * task.heads, [&](int64_t head) {
      kernels.attention_backward(task, head,
                                 tensor::thread_scratch(tensor::Scratch::Kernel, kernels.attention_back_scratch(task)));
    });
    return result;
  }
};

}  // namespace

bool is_attention_fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const auto is_plain = [](const at::Tensor& x) {
    return x.is_cpu() && x.scalar_type() == at::kFloat && x.numel() > 0;
  };
  return cpu_kernels() != nullptr && is_plain(q) && is_plain(k) && is_plain(v);
}

at::Tensor fused_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads) {
  CINNABAR_ASSERT(q.dim() == 3 && k.dim() == 3 && k.sizes() == v.sizes() && q.size(2) == k.size(2) &&
                  q.size(0) == k.size(0) && q.size(2) % heads == 0);
  return FusedAttention::apply(q, k, v, heads);
}

}  // namespace cinnabar::nn
