#include "cinnabar/worker/self_test.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "cinnabar/nn/attention.h"
#include "cinnabar/nn/attention_choice.h"
#include "cinnabar/nn/layer.h"
#include "cinnabar/optim/optimizer.h"
#include "cinnabar/tensor/accelerator.h"

namespace cinnabar::worker {

namespace {

using Clock = std::chrono::steady_clock;
using Tensors = std::vector<at::Tensor>;

struct Type {
  const char* name;
  at::ScalarType type;
  // Relative to the largest value: fp32 with room for the reduced products that some libraries take for convolutions
  // (10 bits); half types for the rounding of inputs that kernels keep between their steps.
  double limit;
};
constexpr Type kTypes[] = {{"fp32", at::kFloat, 2e-3}, {"fp16", at::kHalf, 1e-2}, {"bf16", at::kBFloat16, 4e-2}};

// What is computed: on the device from inputs of its type, and from the same numbers in float64 on the processor.
struct Case {
  std::string name;
  Tensors inputs;  // on the CPU, fp32
  std::function<Tensors(const Tensors&)> compute;
  double operations = 0.0;  // multiplications and additions; 0: no rate is told
};

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// The largest difference over all outputs, each relative to its own largest value.
double error_of(const Tensors& found, const Tensors& expected) {
  double worst = 0.0;
  for (size_t i = 0; i < found.size(); ++i) {
    const at::Tensor own = found[i].detach().to(at::kCPU).to(at::kDouble);
    const double scale = std::max(expected[i].abs().max().item<double>(), 1e-30);
    const double error = (own - expected[i].detach()).abs().max().item<double>() / scale;
    if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, error);
  }
  return worst;
}

at::Tensor values(at::IntArrayRef shape, int64_t seed) {
  // Fixed numbers without a generator: about evenly spread over -1 to 1.
  const at::Tensor line = at::arange(c10::multiply_integers(shape), at::kDouble);
  return at::sin(line * 12.9898 + static_cast<double>(seed)).mul(43758.5453).frac().to(at::kFloat).view(shape);
}

Tensors leaves(const Tensors& inputs) {
  Tensors result;
  for (const at::Tensor& x : inputs) result.push_back(x.detach().set_requires_grad(true));
  return result;
}

// The output and the gradients of all inputs for a given gradient of the output, whose numbers every type holds
// exactly.
Tensors with_gradients(const at::Tensor& output, const Tensors& inputs) {
  const at::Tensor up = values(output.sizes(), 33).mul(64.0).round().div(64.0);
  output.backward(tensor::to_device(up.to(output.scalar_type()), output.device()));
  Tensors result{output.detach()};
  for (const at::Tensor& x : inputs) result.push_back(x.grad());
  return result;
}

Case product(int64_t size) {
  return {.name = "gemm",
          .inputs = {values({size, size}, 1), values({size, size}, 2)},
          .compute =
              [](const Tensors& x) {
                nn::Linear layer(x[1].size(1), x[1].size(0), false);
                layer.weight = x[1];
                return Tensors{layer.forward(x[0])};
              },
          .operations = 2.0 * static_cast<double>(size * size * size)};
}

Case convolution(int64_t channels, int64_t side, bool is_backward) {
  const double once = 2.0 * 9.0 * static_cast<double>(2 * channels * channels * side * side);
  return {
      .name = is_backward ? "convolution backward" : "convolution",
      .inputs = {values({2, channels, side, side}, 3), values({channels, channels, 3, 3}, 4), values({channels}, 5)},
      .compute =
          [is_backward](const Tensors& given) {
            const Tensors x = is_backward ? leaves(given) : given;
            nn::Conv2d layer({.in = x[1].size(1), .out = x[1].size(0)});
            layer.weight = x[1];
            layer.bias = x[2];
            const at::Tensor y = layer.forward(x[0]);
            return is_backward ? with_gradients(y, x) : Tensors{y};
          },
      .operations = is_backward ? 3.0 * once : once};
}

struct AttentionCase {
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t width = 0;
  bool is_in_pieces = false;
  bool is_backward = false;
};

Case attention(const AttentionCase& wanted) {
  const auto& [tokens, heads, width, is_in_pieces, is_backward] = wanted;
  const double once = 4.0 * static_cast<double>(tokens * tokens * heads * width);
  Case made{.name = std::string(is_in_pieces ? "attention in pieces" : "attention of libtorch")};
  if (is_backward) made.name = std::string(is_in_pieces ? "pieces backward" : "attention backward");
  for (int64_t i = 0; i < 3; ++i) made.inputs.push_back(values({1, tokens, heads * width}, 6 + i));
  made.compute = [wanted](const Tensors& given) {
    const Tensors x = wanted.is_backward ? leaves(given) : given;
    const int64_t before = nn::largest_fused_head();
    // float64 is the reference: written out by libtorch.
    nn::set_largest_fused_head(wanted.is_in_pieces && x[0].scalar_type() != at::kDouble ? 0 : nn::kAnyHead);
    const at::Tensor y = nn::attention(x[0], x[1], x[2], wanted.heads);
    nn::set_largest_fused_head(before);
    return wanted.is_backward ? with_gradients(y, x) : Tensors{y};
  };
  // Backward computes the scores once more.
  made.operations = is_backward ? 3.5 * once : once;
  return made;
}

Case norms() {
  return {.name = "norms backward", .inputs = {values({2, 64, 24, 24}, 9)}, .compute = [](const Tensors& given) {
            const Tensors x = leaves(given);
            const auto ones = [&](int64_t count) { return at::ones({count}, x[0].options()); };
            const at::Tensor grouped =
                at::group_norm(x[0], 32, ones(64), at::zeros({64}, x[0].options()), 1e-5).mul(0.5);
            const at::Tensor y = at::layer_norm(at::silu(grouped), {24}, ones(24), at::zeros({24}, x[0].options()));
            return with_gradients(y, x);
          }};
}

// Three steps of AdamW from known gradients. In float64: the formula itself.
Tensors adamw_formula(const at::Tensor& start, const Tensors& gradients, double rate, double decay) {
  at::Tensor value = start.clone();
  at::Tensor first = at::zeros_like(value);
  at::Tensor second = at::zeros_like(value);
  for (size_t step = 0; step < gradients.size(); ++step) {
    const at::Tensor& gradient = gradients[step];
    value = value * (1.0 - rate * decay);
    first = first * 0.9 + gradient * 0.1;
    second = second * 0.999 + gradient * gradient * 0.001;
    const double power = static_cast<double>(step + 1);
    value = value -
            rate * (first / (1.0 - std::pow(0.9, power))) / ((second / (1.0 - std::pow(0.999, power))).sqrt() + 1e-8);
  }
  return {value - start};
}

Case optimizer_step(int64_t count) {
  Case made{.name = "optimizer step", .inputs = {values({count}, 10)}};
  for (int64_t step = 0; step < 3; ++step) made.inputs.push_back(values({count}, 11 + step));
  made.compute = [](const Tensors& x) {
    constexpr double kRate = 0.01;
    constexpr double kDecay = 0.1;
    const Tensors gradients(x.begin() + 1, x.end());
    if (x[0].scalar_type() == at::kDouble) return adamw_formula(x[0], gradients, kRate, kDecay);
    at::Tensor weight = x[0].clone();
    optim::FlatParameters flat;
    flat.add_group("all", kRate, {{"weight", weight}});
    const auto optimizer = optim::make_optimizer("AdamW", {"weight_decay=" + std::to_string(kDecay)}, flat);
    for (const at::Tensor& gradient : gradients) {
      flat.gradient("weight").copy_(gradient);
      optimizer->step(std::vector<double>{kRate});
    }
    return Tensors{flat.value("weight").detach() - x[0]};
  };
  return made;
}

class SelfTest {
 public:
  explicit SelfTest(const SelfTestOptions& options) : options_(options), is_small_(options.device.is_cpu()) {}

  void run() {
    for (const Type& type : kTypes) {
      for (const Case& test : cases()) run_case(test, type);
    }
    // Optimizers work on fp32 buffers.
    run_case(optimizer_step(is_small_ ? 1 << 16 : 1 << 20), kTypes[0]);
    for (const auto& [name, type, half_step] :
         {std::tuple("fp16", at::kHalf, 0x1p-11), std::tuple("bf16", at::kBFloat16, 0x1p-8),
          std::tuple("fp8", at::kFloat8_e4m3fn, 0x1p-4), std::tuple("fp8 wide", at::kFloat8_e5m2, 0x1p-3)}) {
      run_cast(name, type, half_step);
    }
  }

 private:
  // Sizes of the layers of SD; on the processor smaller ones, so that all of it takes seconds.
  std::vector<Case> cases() const {
    const int64_t tokens = is_small_ ? 512 : 2048;
    std::vector<Case> all = {product(is_small_ ? 512 : 2048), convolution(is_small_ ? 64 : 320, 32, false),
                             convolution(is_small_ ? 64 : 320, 32, true)};
    for (const bool is_in_pieces : {false, true}) {
      for (const bool is_backward : {false, true}) all.push_back(attention({tokens, 8, 40, is_in_pieces, is_backward}));
    }
    all.push_back(norms());
    return all;
  }

  // Fills the numbers of a row, or its problem.
  template <class Work>
  void told(hardware::SelfTestRow row, const Work& work) const {
    options_.begin(row.name, row.type);
    try {
      work(row);
      row.is_good = row.error <= row.limit;
    } catch (const std::exception& error) {
      const std::string text = error.what();
      row.problem = text.substr(0, text.find('\n'));
    }
    options_.end(row);
  }

  void run_case(const Case& test, const Type& type) const {
    told({.name = test.name, .type = type.name, .limit = type.limit}, [&](hardware::SelfTestRow& row) {
      Tensors inputs;
      Tensors exact;
      for (const at::Tensor& x : test.inputs) {
        const at::Tensor rounded = x.to(type.type);
        inputs.push_back(tensor::to_device(rounded, options_.device));
        exact.push_back(rounded.to(at::kDouble));
      }
      const Tensors found = measured(test, inputs, row);
      row.error = error_of(found, test.compute(exact));
    });
  }

  Tensors measured(const Case& test, const Tensors& inputs, hardware::SelfTestRow& row) const {
    const auto once = [&] {
      const Clock::time_point begin = Clock::now();
      Tensors result = test.compute(inputs);
      tensor::synchronize(options_.device);
      return std::pair(std::move(result), milliseconds_since(begin));
    };
    auto [result, first_ms] = once();
    row.first_ms = first_ms;
    row.ms = first_ms;
    for (int i = 0; i < 2; ++i) row.ms = std::min(row.ms, once().second);
    if (test.operations > 0.0) row.gflops = test.operations / row.ms / 1e6;
    return result;
  }

  // There and back differs by half a step of the narrow type at most; what is below its range is left out.
  void run_cast(const char* name, at::ScalarType type, double half_step) const {
    told({.name = "cast", .type = name, .limit = half_step}, [&](hardware::SelfTestRow& row) {
      const at::Tensor all = at::cat({values({1 << 14}, 20), values({1 << 10}, 21) * 200.0});
      const at::Tensor x = all.masked_select(all.abs().gt(0.02));
      const at::Tensor here = tensor::to_device(x, options_.device);
      const auto once = [&] {
        const Clock::time_point begin = Clock::now();
        const at::Tensor back = here.to(type).to(at::kFloat);
        tensor::synchronize(options_.device);
        return std::pair(back, milliseconds_since(begin));
      };
      const auto [back, first_ms] = once();
      row.first_ms = first_ms;
      row.ms = std::min(first_ms, once().second);
      const at::Tensor exact = x.to(at::kDouble);
      row.error = ((back.to(at::kCPU).to(at::kDouble) - exact) / exact).abs().max().item<double>();
    });
  }

  const SelfTestOptions& options_;
  bool is_small_;
};

}  // namespace

void run_self_test(const SelfTestOptions& options) { SelfTest(options).run(); }

}  // namespace cinnabar::worker
