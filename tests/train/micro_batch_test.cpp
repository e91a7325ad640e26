// What micro_batch_size does to a batch: parts with the items, captions and draws that the whole has.
#include "cinnabar/train/micro_batch.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/noise/noise_source.h"

using namespace cinnabar;

namespace {

data::LoadedBatch batch_of(int64_t count) {
  data::LoadedBatch batch;
  batch.plan.dataset = 1;
  batch.plan.size = {64, 32};
  for (int64_t i = 0; i < count; ++i) {
    batch.plan.items.push_back({.sample = static_cast<size_t>(i), .item = static_cast<uint64_t>(10 + i)});
    batch.captions.push_back("caption " + std::to_string(i));
  }
  batch.moments = at::arange(count * 2).view({count, 2, 1, 1}).to(at::kFloat);
  batch.loss_weights = at::arange(count).to(at::kFloat);
  batch.original_sizes = at::arange(count * 2).view({count, 2}).to(at::kFloat);
  batch.crop_top_lefts = batch.original_sizes + 1;
  batch.target_sizes = batch.original_sizes + 2;
  return batch;
}

}  // namespace

TEST_CASE("parts hold everything of their items and together the batch") {
  const data::LoadedBatch batch = batch_of(5);
  const data::LoadedBatch first = train::part_of(batch, 0, 2);
  const data::LoadedBatch rest = train::part_of(batch, 2, 3);
  CHECK(first.captions == std::vector<std::string>{"caption 0", "caption 1"});
  CHECK(rest.plan.items.front().item == 12);
  CHECK(rest.plan.dataset == 1);
  CHECK(rest.plan.size == batch.plan.size);
  CHECK(at::cat({first.moments, rest.moments}).equal(batch.moments));
  CHECK(at::cat({first.loss_weights, rest.loss_weights}).equal(batch.loss_weights));
  CHECK(at::cat({first.original_sizes, rest.original_sizes}).equal(batch.original_sizes));
  CHECK(at::cat({first.crop_top_lefts, rest.crop_top_lefts}).equal(batch.crop_top_lefts));
  CHECK(at::cat({first.target_sizes, rest.target_sizes}).equal(batch.target_sizes));
  CHECK(!first.masks.defined());
  CHECK(!first.pixels.defined());
  CHECK_THROWS_AS(train::part_of(batch, 4, 2), base::Error);
}

TEST_CASE("noise and timesteps of a part are those that the whole batch draws") {
  const schema::Values none;
  const noise::NoiseSource source(none, 1000);
  const at::Tensor latents = at::zeros({3, 4, 2, 2});
  const std::vector<noise::SampleKey> keys{{7, 2, 10}, {7, 2, 11}, {7, 2, 12}};
  const noise::BatchNoise whole = source.draw(latents, keys);
  for (int64_t i = 0; i < 3; ++i) {
    const noise::BatchNoise part =
        source.draw(latents.narrow(0, i, 1), std::span(keys).subspan(static_cast<size_t>(i), 1));
    CHECK(part.noise.equal(whole.noise.narrow(0, i, 1)));
    CHECK(part.timesteps.equal(whole.timesteps.narrow(0, i, 1)));
  }
}
