// Filling tensors from counter-based random streams.
#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "cinnabar/base/random_stream.h"

namespace cinnabar::tensor {

// Standard normal draws in element order, for any floating-point type and device (drawn in fp32 on the CPU).
void fill_normal(at::Tensor& tensor, base::RandomStream& stream);
// Uniform in [low, high), likewise.
void fill_uniform(at::Tensor& tensor, base::RandomStream& stream, float low, float high);

// Which stream a large fill takes: block i of 65,536 elements draws from RandomStream(seed, purpose, item, i), so that
// threads can fill it together with the same result.
struct FillKey {
  uint64_t seed = 0;
  base::Purpose purpose = base::Purpose::ModelInit;
  uint64_t item = 0;
};
void fill_normal_blocks(at::Tensor& tensor, const FillKey& key, float deviation = 1.0F);
void fill_uniform_blocks(at::Tensor& tensor, const FillKey& key, float low, float high);

// FNV-1a hash of a name: a key for streams that belong to a named parameter.
uint64_t name_key(std::string_view name);

}  // namespace cinnabar::tensor
