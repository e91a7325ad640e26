#include "cinnabar/train/micro_batch.h"

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"

namespace cinnabar::train {

data::LoadedBatch part_of(const data::LoadedBatch& batch, size_t first, size_t count) {
  CINNABAR_ASSERT(count > 0 && first + count <= batch.plan.items.size());
  const auto begin = static_cast<std::ptrdiff_t>(first);
  const auto end = static_cast<std::ptrdiff_t>(first + count);
  const auto rows = [&](const at::Tensor& all) {
    return all.defined() ? all.narrow(0, static_cast<int64_t>(first), static_cast<int64_t>(count)) : all;
  };
  data::LoadedBatch part;
  part.plan.dataset = batch.plan.dataset;
  part.plan.size = batch.plan.size;
  part.plan.items = {batch.plan.items.begin() + begin, batch.plan.items.begin() + end};
  part.captions = {batch.captions.begin() + begin, batch.captions.begin() + end};
  part.moments = rows(batch.moments);
  part.pixels = rows(batch.pixels);
  part.loss_weights = rows(batch.loss_weights);
  part.masks = rows(batch.masks);
  part.original_sizes = rows(batch.original_sizes);
  part.crop_top_lefts = rows(batch.crop_top_lefts);
  part.target_sizes = rows(batch.target_sizes);
  return part;
}

}  // namespace cinnabar::train
