#include "cinnabar/tensor/weight_memory.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace cinnabar::tensor {
namespace {

TEST_CASE("tensors of one block do not overlap and outlive it") {
  at::Tensor first, second;
  {
    WeightMemory memory(WeightMemory::taken_by(12) + WeightMemory::taken_by(8));
    first = memory.take({3}, at::kFloat);
    second = memory.take({2, 2}, at::kHalf);
    CHECK_THROWS_AS(memory.take({1}, at::kFloat), base::Error);
  }
  first.fill_(1.0);
  second.fill_(2.0);
  CHECK(at::equal(first, at::ones({3})));
  CHECK(reinterpret_cast<uintptr_t>(first.data_ptr()) % 64 == 0);
  CHECK(reinterpret_cast<uintptr_t>(second.data_ptr()) % 64 == 0);
  CHECK(at::equal(second, at::full({2, 2}, 2.0, at::kHalf)));
}

TEST_CASE("an empty block gives empty tensors") {
  WeightMemory memory(0);
  CHECK(memory.take({0, 4}, at::kFloat).numel() == 0);
}

}  // namespace
}  // namespace cinnabar::tensor
