#include "cinnabar/nn/frozen_layer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include "cinnabar/nn/cpu_kernels.h"
#include "cinnabar/nn/layer.h"
#include "nn/has_kernels.h"
#include "nn/kernel_numbers.h"

namespace cinnabar::nn {

namespace {

// The same weights for each result of a shape.
void backward(const at::Tensor& result) {
  at::manual_seed(7);
  (result * numbers(result.sizes()).to(result.scalar_type())).sum().backward();
}

// fp32 sums of up to a thousand products, in another order than the double ones.
constexpr double kClose = 3e-6;

struct LinearCase {
  int64_t rows, in, out, rank;
  bool has_bias, has_add, has_mask;
};

void check_linear(const LinearCase& c) {
  CAPTURE(c.rows);
  CAPTURE(c.out);
  const at::Tensor x = numbers({2, c.rows, c.in});
  const at::Tensor weight = numbers({c.out, c.in});
  const at::Tensor bias = c.has_bias ? numbers({c.out}) : at::Tensor();
  const at::Tensor add = numbers({2, c.rows, c.out});
  const at::Tensor down = numbers({c.rank, c.in});
  const at::Tensor up = numbers({c.out, c.rank});
  const at::Tensor mask = numbers({2, c.rows, c.rank}).gt(0.2).to(at::kDouble);

  const at::Tensor x1 = leaf(x, at::kFloat);
  const at::Tensor add1 = leaf(add, at::kFloat);
  LowRank update{.down = leaf(down, at::kFloat), .up = leaf(up, at::kFloat), .scale = 0.7};
  if (c.has_mask) update.mask = mask.to(at::kFloat);
  const at::Tensor found = frozen_linear(x1, weight.to(at::kFloat), c.has_bias ? bias.to(at::kFloat) : bias,
                                         c.rank > 0 ? &update : nullptr, {.add = c.has_add ? add1 : at::Tensor()});
  backward(found);

  const at::Tensor x2 = leaf(x, at::kDouble);
  const at::Tensor add2 = leaf(add, at::kDouble);
  const at::Tensor down2 = leaf(down, at::kDouble);
  const at::Tensor up2 = leaf(up, at::kDouble);
  at::Tensor expected = at::linear(x2, weight, bias);
  if (c.rank > 0) {
    at::Tensor state = at::linear(x2, down2);
    if (c.has_mask) state = state * mask;
    expected = expected + 0.7 * at::linear(state, up2);
  }
  if (c.has_add) expected = expected + add2;
  backward(expected);

  CHECK(error(found, expected) < kClose);
  CHECK(error(x1.grad(), x2.grad()) < kClose);
  if (c.has_add) CHECK(error(add1.grad(), add2.grad()) < kClose);
  if (c.rank == 0) return;
  CHECK(error(update.down.grad(), down2.grad()) < kClose);
  CHECK(error(update.up.grad(), up2.grad()) < kClose);
}

struct ConvCase {
  int64_t in, out, height, width, kernel, stride, padding;
  bool has_add, has_row_bias;
};

void check_convolution(const ConvCase& c, bool is_channels_last) {
  CAPTURE(c.in);
  CAPTURE(c.out);
  CAPTURE(c.height);
  CAPTURE(c.stride);
  const at::Tensor x = numbers({2, c.in, c.height, c.width});
  const at::Tensor weight = numbers({c.out, c.in, c.kernel, c.kernel});
  const at::Tensor bias = numbers({c.out});
  const at::Tensor row_bias = numbers({2, c.out});
  const at::Tensor x2 = leaf(x, at::kDouble);
  const at::Tensor row2 = leaf(row_bias, at::kDouble);
  at::Tensor expected = at::conv2d(x2, weight, bias, c.stride, c.padding);
  const at::Tensor add = numbers(expected.sizes());
  const at::Tensor add2 = leaf(add, at::kDouble);
  if (c.has_add) expected = expected + add2;
  if (c.has_row_bias) expected = expected + row2.unsqueeze(2).unsqueeze(3);
  backward(expected);

  const at::Tensor x1 = leaf(x, at::kFloat);
  const at::Tensor row1 = leaf(row_bias, at::kFloat);
  const at::Tensor add1 = leaf(add, at::kFloat);
  const at::Tensor given = is_channels_last ? x1.contiguous(at::MemoryFormat::ChannelsLast) : x1 * 1.0;
  const at::Tensor found =
      frozen_convolution(given, weight.to(at::kFloat), bias.to(at::kFloat), c.stride, c.padding, nullptr,
                         {.add = c.has_add ? add1 : at::Tensor(), .row_bias = c.has_row_bias ? row1 : at::Tensor()});
  backward(found);
  CHECK(error(found, expected) < kClose);
  CHECK(error(x1.grad(), x2.grad()) < kClose);
  if (c.has_add) CHECK(error(add1.grad(), add2.grad()) < kClose);
  if (c.has_row_bias) CHECK(error(row1.grad(), row2.grad()) < kClose);
}

}  // namespace

TEST_CASE("a frozen linear layer with its adapter equals the plain composition in double") {
  if (!has_kernels()) return;
  check_linear({.rows = 1, .in = 7, .out = 5, .rank = 2});
  check_linear({.rows = 5, .in = 320, .out = 33, .rank = 16, .has_bias = true, .has_add = true});
  check_linear({.rows = 40, .in = 48, .out = 96, .rank = 3, .has_bias = true, .has_mask = true});
  check_linear({.rows = 31, .in = 300, .out = 64, .rank = 0, .has_add = true});
  check_linear({.rows = 17, .in = 17, .out = 19, .rank = 0, .has_bias = true});
}

TEST_CASE("frozen convolutions equal the plain ones in double, in either layout") {
  if (!has_kernels()) return;
  for (const bool is_channels_last : {false, true}) {
    check_convolution({.in = 32,
                       .out = 48,
                       .height = 5,
                       .width = 7,
                       .kernel = 3,
                       .stride = 1,
                       .padding = 1,
                       .has_add = true,
                       .has_row_bias = true},
                      is_channels_last);
    check_convolution({.in = 80, .out = 16, .height = 4, .width = 4, .kernel = 3, .stride = 1, .padding = 1},
                      is_channels_last);
    check_convolution({.in = 16, .out = 32, .height = 1, .width = 1, .kernel = 3, .stride = 1, .padding = 1},
                      is_channels_last);
    check_convolution({.in = 4,
                       .out = 20,
                       .height = 6,
                       .width = 5,
                       .kernel = 3,
                       .stride = 1,
                       .padding = 1,
                       .has_add = true,
                       .has_row_bias = true},
                      is_channels_last);
    check_convolution({.in = 10, .out = 12, .height = 7, .width = 8, .kernel = 3, .stride = 2, .padding = 1},
                      is_channels_last);
    check_convolution(
        {.in = 10, .out = 12, .height = 3, .width = 8, .kernel = 1, .stride = 1, .padding = 0, .has_add = true},
        is_channels_last);
  }
}

TEST_CASE("results are the same to the bit with one thread and with several, and with AVX2 and AVX-512") {
  if (!has_kernels()) return;
  const at::Tensor x = numbers({1, 48, 20, 20}).to(at::kFloat);
  const at::Tensor weight = numbers({96, 48, 3, 3}).to(at::kFloat);
  const at::Tensor matrix = numbers({96, 320}).to(at::kFloat);
  const at::Tensor rows = numbers({150, 320}).to(at::kFloat);
  const int before = at::get_num_threads();
  std::vector<at::Tensor> results;
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    results.push_back(frozen_convolution(x, weight, {}, 1, 1, nullptr, {}));
    results.push_back(frozen_linear(rows, matrix, {}, nullptr, {}));
  }
  at::set_num_threads(before);
  CHECK(at::equal(results[0], results[2]));
  CHECK(at::equal(results[1], results[3]));
  if (avx512_kernels() == nullptr || cpu_kernels() != avx512_kernels()) return;
  at::Tensor other = at::empty({150, 96});
  std::vector<float> scratch(static_cast<size_t>(avx2_kernels()->scratch.gemm));
  Gemm gemm{.rows = 150, .columns = 96, .c = other.mutable_data_ptr<float>(), .c_row = 96};
  gemm.terms[0] = {.a = rows.const_data_ptr<float>(),
                   .a_row = 320,
                   .b = matrix.const_data_ptr<float>(),
                   .b_depth = 1,
                   .b_column = 320,
                   .depth = 320};
  avx2_kernels()->gemm_block(gemm, {0, 150, 0, 96}, scratch.data());
  CHECK(at::equal(other, results[1]));
}

TEST_CASE("weights stored in 16 bits give what their widened values give") {
  if (!has_kernels()) return;
  const at::Tensor weight = numbers({24, 40}).to(at::kBFloat16);
  const at::Tensor x = leaf(numbers({3, 40}), at::kFloat);
  const at::Tensor y = frozen_linear(x, weight, {}, nullptr, {});
  CHECK(at::equal(y, frozen_linear(x, weight.to(at::kFloat), {}, nullptr, {})));
  const at::Tensor kernels = numbers({16, 16, 3, 3}).to(at::kHalf);
  const at::Tensor map = numbers({1, 16, 4, 6}).to(at::kFloat);
  CHECK(at::equal(frozen_convolution(map, kernels, {}, 1, 1, nullptr, {}),
                  frozen_convolution(map, kernels.to(at::kFloat), {}, 1, 1, nullptr, {})));
}

TEST_CASE("trained weights and other types keep to libtorch's own operations") {
  const at::Tensor x = at::zeros({1, 4});
  const at::Tensor weight = at::zeros({2, 4});
  CHECK_FALSE(is_frozen_on_cpu(x.to(at::kBFloat16), weight, {}));
  CHECK_FALSE(is_frozen_on_cpu(x.to(at::kDouble), weight, {}));
  CHECK_FALSE(is_frozen_on_cpu(x, weight.clone().requires_grad_(true), {}));
  CHECK_FALSE(is_frozen_on_cpu(x, weight, at::zeros({2}).requires_grad_(true)));
  CHECK(is_frozen_on_cpu(x, weight, {}) == (cpu_kernels() != nullptr));
}

TEST_CASE("no gradient is computed for an input that needs none") {
  if (!has_kernels()) return;
  LowRank update{.down = leaf(numbers({2, 6}), at::kFloat), .up = leaf(numbers({5, 2}), at::kFloat)};
  const at::Tensor x = numbers({3, 6}).to(at::kFloat);
  frozen_linear(x, numbers({5, 6}).to(at::kFloat), {}, &update, {}).sum().backward();
  CHECK(update.down.grad().defined());
  CHECK(update.up.grad().defined());
  CHECK_FALSE(x.grad().defined());
}

}  // namespace cinnabar::nn
