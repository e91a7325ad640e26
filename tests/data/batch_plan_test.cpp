#include "cinnabar/data/batch_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace cinnabar::data {
namespace {

Dataset dataset_of(int64_t batch_size, bool flips = false) {
  Dataset dataset;
  dataset.options.batch_size = batch_size;
  dataset.options.subsets = {{.flip_aug = flips}};
  for (int i = 0; i < 20; ++i) {
    const Size size = i % 3 == 0 ? Size{640, 384} : Size{512, 512};
    dataset.samples.push_back({.bucket = {.bucket = size, .resized = size}, .repeats = 1 + i % 4});
  }
  return dataset;
}

TEST_CASE("each_occurrence_stands_in_exactly_one_batch_of_its_bucket") {
  const std::vector<Dataset> datasets = {dataset_of(4), dataset_of(3)};
  std::map<std::tuple<size_t, size_t, int64_t>, int> seen;
  std::set<uint64_t> items;
  const std::vector<Batch> batches = plan_epoch(datasets, 7, 1);
  for (const Batch& batch : batches) {
    const Dataset& dataset = datasets[batch.dataset];
    CHECK(batch.items.size() <= static_cast<size_t>(dataset.options.batch_size));
    for (const BatchItem& item : batch.items) {
      CHECK(dataset.samples[item.sample].bucket.bucket == batch.size);
      ++seen[{batch.dataset, item.sample, item.occurrence}];
      items.insert(item.item);
    }
  }
  const auto total = static_cast<size_t>(datasets[0].item_count() + datasets[1].item_count());
  CHECK(seen.size() == total);
  CHECK(items.size() == total);
  for (const auto& [key, count] : seen) CHECK(count == 1);
  CHECK(static_cast<int64_t>(batches.size()) == batch_count(datasets));
}

TEST_CASE("at_most_one_batch_of_a_bucket_is_short") {
  std::map<Size, int> short_batches;
  for (const Batch& batch : plan_epoch({dataset_of(4)}, 7, 2))
    short_batches[batch.size] += batch.items.size() < 4 ? 1 : 0;
  CHECK(short_batches.size() == 2);
  for (const auto& [size, count] : short_batches) CHECK(count <= 1);
}

TEST_CASE("the_plan_depends_on_seed_and_epoch_alone") {
  const std::vector<Dataset> datasets = {dataset_of(2, true)};
  CHECK(plan_epoch(datasets, 7, 3) == plan_epoch(datasets, 7, 3));
  CHECK(plan_epoch(datasets, 7, 3) != plan_epoch(datasets, 7, 4));
  CHECK(plan_epoch(datasets, 7, 3) != plan_epoch(datasets, 8, 3));
}

TEST_CASE("about_half_of_the_items_are_flipped_where_asked") {
  int flipped = 0;
  int total = 0;
  for (uint64_t epoch = 1; epoch <= 10; ++epoch) {
    for (const Batch& batch : plan_epoch({dataset_of(4, true)}, 7, epoch)) {
      total += static_cast<int>(batch.items.size());
      flipped += static_cast<int>(std::ranges::count_if(batch.items, &BatchItem::is_flipped));
    }
  }
  CHECK(total == 500);
  // Four standard deviations of 500 fair draws are 45.
  CHECK(std::abs(flipped - 250) < 45);
  for (const Batch& batch : plan_epoch({dataset_of(4, false)}, 7, 1)) {
    CHECK(std::ranges::none_of(batch.items, &BatchItem::is_flipped));
  }
}

TEST_CASE("bucket_counts_hold_repeats") {
  const Dataset dataset = dataset_of(4);
  const std::vector<BucketCount> counts = bucket_counts(dataset);
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].size == Size{512, 512});
  CHECK(counts[0].items + counts[1].items == dataset.item_count());
}

}  // namespace
}  // namespace cinnabar::data
