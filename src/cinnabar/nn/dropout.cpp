#include "cinnabar/nn/dropout.h"

#include <span>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include "cinnabar/base/error.h"
#include "cinnabar/base/random_stream.h"
#include "cinnabar/tensor/parallel.h"

namespace cinnabar::nn {

namespace {

std::shared_ptr<const DropoutKey>& thread_key() {
  static thread_local std::shared_ptr<const DropoutKey> key;
  return key;
}

// The stream of one row. Rows beyond the named samples (chunks, or no names at all) count on.
base::RandomStream row_stream(const DropoutKey& key, int64_t row, int64_t rows, uint64_t layer, uint64_t salt) {
  const auto named = static_cast<int64_t>(key.samples.size());
  uint64_t sample = static_cast<uint64_t>(row);
  uint64_t part = 0;
  if (named > 0) {
    const int64_t chunks = rows % named == 0 ? rows / named : 1;
    CINNABAR_ASSERT(row / chunks < named);
    sample = key.samples[static_cast<size_t>(row / chunks)];
    part = static_cast<uint64_t>(row % chunks);
  }
  // The constants only spread the parts; RandomStream mixes both words again.
  const uint64_t where = layer ^ ((salt + 1) * 0xD6E8FEB86659FD93ULL) ^ (part * 0xA0761D6478BD642FULL);
  return {key.seed ^ (key.step * 0x9E3779B97F4A7C15ULL), base::Purpose::NetworkDropout, where, sample};
}

std::shared_ptr<const DropoutKey> required_key() {
  std::shared_ptr<const DropoutKey> key = thread_key();
  if (key == nullptr) {
    throw base::Error(base::ErrorCode::Internal, "dropout outside of a DropoutScope: the pass has no key to draw from");
  }
  return key;
}

}  // namespace

DropoutScope::DropoutScope(DropoutKey key) : DropoutScope(std::make_shared<const DropoutKey>(std::move(key))) {}
DropoutScope::DropoutScope(std::shared_ptr<const DropoutKey> key)
    : before_(std::exchange(thread_key(), std::move(key))) {}
DropoutScope::~DropoutScope() { thread_key() = std::move(before_); }

std::shared_ptr<const DropoutKey> current_dropout_key() { return thread_key(); }

std::vector<double> keyed_uniforms(int64_t rows, uint64_t layer, uint64_t salt) {
  const std::shared_ptr<const DropoutKey> key = required_key();
  std::vector<double> result;
  for (int64_t row = 0; row < rows; ++row) result.push_back(row_stream(*key, row, rows, layer, salt).uniform());
  return result;
}

at::Tensor keyed_mask(at::IntArrayRef shape, double p, uint64_t layer, uint64_t salt) {
  const std::shared_ptr<const DropoutKey> key = required_key();
  at::Tensor mask = at::empty(shape, at::TensorOptions().dtype(at::kFloat));
  if (mask.numel() == 0) return mask;
  const int64_t rows = shape[0];
  const int64_t width = mask.numel() / rows;
  float* const values = mask.mutable_data_ptr<float>();
  const auto threshold = static_cast<uint64_t>(p * 4294967296.0);
  tensor::for_units(rows, [&](int64_t row) {
    base::RandomStream stream = row_stream(*key, row, rows, layer, salt);
    for (float& value : std::span(values + row * width, static_cast<size_t>(width))) {
      value = stream.next_u32() < threshold ? 0.0F : 1.0F;
    }
  });
  return mask;
}

at::Tensor keyed_dropout(const at::Tensor& x, double p, uint64_t layer, uint64_t salt) {
  if (p <= 0.0) return x;
  if (p >= 1.0) return at::zeros_like(x);
  const at::Tensor mask = keyed_mask(x.sizes(), p, layer, salt).mul_(1.0 / (1.0 - p));
  return x * mask.to(x.device(), x.scalar_type());
}

}  // namespace cinnabar::nn
