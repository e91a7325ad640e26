#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "cinnabar/optim/moment_store.h"

namespace cinnabar::optim {

namespace {

at::Tensor tensor_of(const std::array<float, 256>& values, int64_t count) {
  at::Tensor result = at::empty({count}, at::kFloat);
  std::copy_n(values.begin(), count, result.mutable_data_ptr<float>());
  return result;
}

// The nearest level by trying all; the lower one of two that are as near.
int nearest_by_search(const CodeLevels& levels, float value) {
  int best = 0;
  for (int i = 1; i < 256; ++i) {
    const double now = std::abs(static_cast<double>(value) - levels.level[static_cast<size_t>(i)]);
    const double before = std::abs(static_cast<double>(value) - levels.level[static_cast<size_t>(best)]);
    if (now < before) best = i;
  }
  return best;
}

}  // namespace

TEST_CASE("levels rise, begin at -1 or 0 and end at 1") {
  for (const CodeLevels* levels : {&signed_levels(), &unsigned_levels()}) {
    for (size_t i = 1; i < 256; ++i) CHECK(levels->level[i] > levels->level[i - 1]);
    CHECK(levels->level[255] == 1.0F);
  }
  CHECK(unsigned_levels().level[0] == 0.0F);
  CHECK(signed_levels().level[0] == doctest::Approx(-0.992968).epsilon(1e-5));  // the largest step is kept for +1
}

TEST_CASE("codes are the nearest levels") {
  std::vector<float> values{1.0F, -1.0F, 0.0F, 1e-7F, -1e-7F, 3e-6F, 0.5F};
  for (int i = 0; i < 2000; ++i) values.push_back(static_cast<float>(std::sin(i) * std::pow(10.0, -(i % 8))));
  std::vector<uint8_t> codes(values.size());
  float scale = 0.0F;
  const auto count = static_cast<int64_t>(values.size());
  quantize_blocks(values.data(), count, count, signed_levels(), codes.data(), &scale);
  CHECK(scale == 1.0F);
  int wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) wrong += codes[i] != nearest_by_search(signed_levels(), values[i]) ? 1 : 0;
  CHECK(wrong == 0);
}

TEST_CASE("levels come back as they are, in each block by its own scale") {
  std::vector<float> values;
  for (const float scale : {0.25F, 64.0F}) {
    for (const float level : unsigned_levels().level) values.push_back(level * scale);
  }
  values.resize(600, 0.0F);  // a third block that is not full, and nothing but 0
  std::vector<uint8_t> codes(values.size());
  std::vector<float> scales(3);
  quantize_blocks(values.data(), 600, kCodeBlock, unsigned_levels(), codes.data(), scales.data());
  CHECK((scales == std::vector<float>{0.25F, 64.0F, 0.0F}));
  std::vector<float> back(values.size());
  dequantize_blocks(codes.data(), scales.data(), 600, kCodeBlock, unsigned_levels(), back.data());
  CHECK((back == values));
}

TEST_CASE("the form for GPUs gives the same codes and values as the one for the CPU") {
  const at::Tensor values = at::sin(at::arange(4096, at::kFloat)) * at::exp(at::cos(at::arange(4096, at::kFloat)) * 6);
  values.narrow(0, 512, 256).zero_();
  for (const CodeLevels* levels : {&signed_levels(), &unsigned_levels()}) {
    const at::Tensor input = levels == &signed_levels() ? values : values.abs();
    at::Tensor codes = at::empty({4096}, at::kByte);
    at::Tensor scales = at::empty({16}, at::kFloat);
    quantize_blocks(input.const_data_ptr<float>(), 4096, kCodeBlock, *levels, codes.mutable_data_ptr<uint8_t>(),
                    scales.mutable_data_ptr<float>());
    const auto [device_codes, device_scales] = quantized(input, tensor_of(levels->threshold, 255));
    CHECK(at::equal(codes, device_codes));
    CHECK(at::equal(scales, device_scales));
    at::Tensor back = at::empty({4096}, at::kFloat);
    dequantize_blocks(codes.const_data_ptr<uint8_t>(), scales.const_data_ptr<float>(), 4096, kCodeBlock, *levels,
                      back.mutable_data_ptr<float>());
    CHECK(at::equal(back, dequantized(codes, scales, tensor_of(levels->level, 256))));
  }
}

TEST_CASE("parameters below the limit stay in fp32, and blocks begin with each parameter") {
  at::Tensor large = at::zeros({5000});
  at::Tensor small = at::zeros({100});
  at::Tensor other = at::zeros({4096});
  FlatParameters flat;
  flat.add_group("all", 0.1, {{"large", large}, {"small", small}, {"other", other}});
  const ParameterGroup& group = flat.groups().at(0);
  const std::vector<MomentRun> runs = moment_runs(group, 4096);
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].is_coded);
  CHECK_FALSE(runs[1].is_coded);
  CHECK(runs[2].is_coded);
  CHECK(runs[2].span.begin == group.slots[2].offset);
  CHECK(runs[2].span.begin % kCodeBlock == 0);
  CHECK(runs[2].span.end == group.values.numel());
  CHECK(moment_runs(group, std::nullopt).size() == 1);
  const MomentStore store(group, runs, signed_levels());
  const at::Tensor mean = at::linspace(-1.0, 1.0, 4096);
  store.save(runs[2], runs[2].span.begin, mean);
  CHECK(at::allclose(store.load(runs[2], runs[2].span.begin, 4096), mean, 0.0, 0.01));
  CHECK(store.load(runs[0], 0, 256).abs().sum().item<float>() == 0.0F);
}

}  // namespace cinnabar::optim
