#include "cinnabar/tensor/fill.h"

#include <algorithm>
#include <functional>
#include <span>

#include <ATen/ops/empty.h>

#include "cinnabar/base/error.h"
#include "cinnabar/tensor/parallel.h"

namespace cinnabar::tensor {

namespace {

constexpr int64_t kBlock = 65536;

// Calls `draw` on the tensor's own memory where that is contiguous CPU fp32, else on a buffer that is copied in after.
void with_floats(at::Tensor& tensor, const std::function<void(std::span<float>)>& draw) {
  CINNABAR_ASSERT(at::isFloatingType(tensor.scalar_type()));
  if (tensor.numel() == 0) return;
  const bool is_direct = tensor.device().is_cpu() && tensor.is_contiguous() && tensor.scalar_type() == at::kFloat;
  at::Tensor target = is_direct ? tensor.detach() : at::empty(tensor.sizes(), at::TensorOptions().dtype(at::kFloat));
  draw({target.mutable_data_ptr<float>(), static_cast<size_t>(target.numel())});
  if (!is_direct) tensor.detach().copy_(target);
}

template <class Draw>
void fill_blocks(at::Tensor& tensor, const FillKey& key, const Draw& draw) {
  with_floats(tensor, [&](std::span<float> out) {
    const auto size = static_cast<int64_t>(out.size());
    const int64_t blocks = (size + kBlock - 1) / kBlock;
    for_units(blocks, [&](int64_t block) {
      base::RandomStream stream(key.seed, key.purpose, key.item, static_cast<uint64_t>(block));
      const int64_t first = block * kBlock;
      draw(stream, out.subspan(static_cast<size_t>(first), static_cast<size_t>(std::min(kBlock, size - first))));
    });
  });
}

}  // namespace

void fill_normal(at::Tensor& tensor, base::RandomStream& stream) {
  with_floats(tensor, [&](std::span<float> out) { stream.fill_normal(out); });
}

void fill_uniform(at::Tensor& tensor, base::RandomStream& stream, float low, float high) {
  with_floats(tensor, [&](std::span<float> out) { stream.fill_uniform(out, low, high); });
}

void fill_normal_blocks(at::Tensor& tensor, const FillKey& key, float deviation) {
  fill_blocks(tensor, key, [&](base::RandomStream& stream, std::span<float> out) {
    stream.fill_normal(out);
    for (float& value : out) value *= deviation;
  });
}

void fill_uniform_blocks(at::Tensor& tensor, const FillKey& key, float low, float high) {
  fill_blocks(tensor, key,
              [&](base::RandomStream& stream, std::span<float> out) { stream.fill_uniform(out, low, high); });
}

uint64_t name_key(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char letter : name) hash = (hash ^ static_cast<uint8_t>(letter)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace cinnabar::tensor
