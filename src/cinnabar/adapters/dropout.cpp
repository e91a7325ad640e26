#ifdef CINNABAR_ENGINE
#include "cinnabar/adapters/dropout.h"

#include <algorithm>
#include <string>

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"
#include "cinnabar/base/random_stream.h"
#include "cinnabar/tensor/fill.h"

namespace cinnabar::adapters {

namespace {

// Tells the module draw of a layer apart from the draws of its samples.
constexpr uint64_t kModuleDraw = 0xA24BAED4963EE407ULL;
// Distance between the text chunks of one sample; odd, so that chunks of neighbouring samples do not meet.
constexpr uint64_t kRowStride = 0x9E3779B97F4A7C15ULL;

// Fills one row: the ranks' draws come first, then one draw an element. `inner` elements follow each other with one
// rank, then the rank changes, `outer` times around.
void fill_row(base::RandomStream& stream, const DropoutRates& rates, std::span<float> row, size_t ranks, size_t inner) {
  std::vector<float> by_rank(ranks, 1.0F);
  if (rates.rank > 0.0) {
    const float kept = static_cast<float>(1.0 / (1.0 - rates.rank));
    for (float& value : by_rank) value = stream.uniform() < rates.rank ? 0.0F : kept;
  }
  const float kept = rates.element > 0.0 ? static_cast<float>(1.0 / (1.0 - rates.element)) : 1.0F;
  const auto limit = static_cast<uint64_t>(rates.element * 4294967296.0);  // of 32 random bits
  for (size_t i = 0; i < row.size(); ++i) {
    const float value = rates.element > 0.0 && stream.next_u32() < limit ? 0.0F : kept;
    row[i] = value * by_rank[i / inner % ranks];
  }
}

}  // namespace

bool is_module_dropped(const StepContext& context, std::string_view name, const DropoutRates& rates) {
  if (!context.is_training || rates.module <= 0.0) return false;
  base::RandomStream stream(context.seed, base::Purpose::NetworkDropout, context.step,
                            tensor::name_key(name) ^ kModuleDraw);
  return stream.uniform() < rates.module;
}

at::Tensor dropout_mask(const StepContext& context, std::string_view name, const DropoutRates& rates,
                        const StateShape& shape, const at::Tensor& like) {
  if (!context.is_training || (rates.element <= 0.0 && rates.rank <= 0.0)) return {};
  const size_t rows = static_cast<size_t>(shape.sizes.at(0));
  const size_t samples = context.samples.size();
  if (samples == 0 || rows % samples != 0) {
    throw base::Error(base::ErrorCode::Internal, "internal error: dropout of " + std::string(name) + " got " +
                                                     std::to_string(rows) + " rows for " + std::to_string(samples) +
                                                     " samples of the step");
  }
  size_t inner = 1;
  for (size_t axis = static_cast<size_t>(shape.rank_axis) + 1; axis < shape.sizes.size(); ++axis) {
    inner *= static_cast<size_t>(shape.sizes[axis]);
  }
  at::Tensor mask = at::empty(shape.sizes, at::TensorOptions().dtype(at::kFloat));
  const std::span<float> all(mask.mutable_data_ptr<float>(), static_cast<size_t>(mask.numel()));
  const size_t row_size = all.size() / std::max<size_t>(rows, 1);
  const size_t rows_per_sample = rows / samples;
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t item = context.samples[row / rows_per_sample] + kRowStride * (row % rows_per_sample);
    base::RandomStream stream(context.seed, base::Purpose::NetworkDropout, context.step, tensor::name_key(name) + item);
    fill_row(stream, rates, all.subspan(row * row_size, row_size),
             static_cast<size_t>(shape.sizes.at(static_cast<size_t>(shape.rank_axis))), inner);
  }
  return mask.to(like.device(), like.scalar_type());
}

}  // namespace cinnabar::adapters
#endif
