#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cinnabar/base/error.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/tensor/dtype.h"
#include "cinnabar/tensor/fill.h"
#include "cinnabar/tensor/finite_file.h"

namespace cinnabar::tensor {

TEST_CASE("element types go to libtorch and back") {
  using formats::Dtype;
  for (const Dtype dtype : {Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::F8E4M3, Dtype::F8E5M2, Dtype::I64,
                            Dtype::I32, Dtype::I16, Dtype::I8, Dtype::U8, Dtype::Bool}) {
    CHECK((file_dtype(scalar_type(dtype)) == dtype));
    CHECK(c10::elementSize(scalar_type(dtype)) == formats::element_size(dtype));
  }
  CHECK_THROWS_AS(file_dtype(at::kComplexFloat), base::Error);
}

TEST_CASE("precision words") {
  CHECK((precision_from("bf16") == at::kBFloat16));
  CHECK((precision_from("fp16") == at::kHalf));
  CHECK((precision_from("no") == at::kFloat));
  CHECK_THROWS_WITH_AS(precision_from("bf61"), doctest::Contains("bf61"), base::Error);
}

TEST_CASE("copies own their memory, shares read the view") {
  at::Tensor source = at::arange(6, at::kFloat).view({2, 3});
  const formats::TensorView view = view_of(source);
  const at::Tensor copied = copy(view);
  const at::Tensor same_type = copy(view, at::kFloat);
  const at::Tensor halved = copy(view, at::kHalf);
  auto owner = std::make_shared<int>(0);
  at::Tensor shared = share(view, owner);
  CHECK(owner.use_count() == 2);
  source.fill_(7.0);
  CHECK(copied[1][2].item<float>() == 5.0F);
  CHECK(same_type[1][2].item<float>() == 5.0F);
  CHECK((halved.scalar_type() == at::kHalf));
  CHECK(halved[1][2].item<float>() == 5.0F);
  CHECK(shared[1][2].item<float>() == 7.0F);
  shared.reset();
  CHECK(owner.use_count() == 1);
}

TEST_CASE("a view that is not aligned is copied") {
  std::array<std::byte, 9> bytes{};
  bytes[5] = std::byte{1};  // element 1 of the int32 pair that starts at offset 1
  const formats::TensorView view{.dtype = formats::Dtype::I32, .shape = {2}, .bytes = std::span(bytes).subspan(1)};
  const at::Tensor shared = share(view, nullptr);
  CHECK(shared[1].item<int32_t>() == 1);
  CHECK(copy(view, at::kLong)[1].item<int64_t>() == 1);
}

TEST_CASE("large fills do not depend on the number of threads") {
  const FillKey key{.seed = 3, .item = name_key("a.weight")};
  at::Tensor one = at::empty({200'000});
  at::Tensor two = at::empty({200'000});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  fill_normal_blocks(one, key, 0.5F);
  at::set_num_threads(2);
  fill_normal_blocks(two, key, 0.5F);
  at::set_num_threads(before);
  CHECK(at::equal(one, two));
  // 200,000 draws: the deviation's own error is 0.5 / sqrt(400,000) = 8e-4; allow six of these.
  CHECK(one.std().item<double>() == doctest::Approx(0.5).epsilon(0.01));
  fill_normal_blocks(two, {.seed = 3, .item = name_key("b.weight")}, 0.5F);
  CHECK_FALSE(at::equal(one, two));
}

TEST_CASE("fills of 16-bit tensors round the same draws") {
  base::RandomStream a(1, base::Purpose::Noise);
  base::RandomStream b(1, base::Purpose::Noise);
  at::Tensor single = at::empty({3, 5});
  at::Tensor half = at::empty({3, 5}, at::kBFloat16);
  fill_normal(single, a);
  fill_normal(half, b);
  CHECK(at::equal(single.to(at::kBFloat16), half));
}

TEST_CASE("values that are no numbers are found in every floating type") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const at::ScalarType dtype :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
    CAPTURE(c10::toString(dtype));
    const at::Tensor fine = at::tensor({-1.5F, 0.0F, 240.0F, 0.002F}).to(dtype);
    CHECK(is_finite(view_of(fine)));
    for (const float bad : {std::nanf(""), -kInfinity}) {
      const bool has_infinity = dtype != at::kFloat8_e4m3fn;
      if (!std::isnan(bad) && !has_infinity) continue;
      const at::Tensor poisoned = at::tensor({1.0F, 2.0F, bad}).to(dtype);
      CHECK_FALSE(is_finite(view_of(poisoned)));
    }
  }
  CHECK(is_finite(view_of(at::full({3}, -1, at::kLong))));
}

}  // namespace cinnabar::tensor
