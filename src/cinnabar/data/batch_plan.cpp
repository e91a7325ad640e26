#include "cinnabar/data/batch_plan.h"

#include <algorithm>
#include <map>
#include <span>

#include "cinnabar/base/random_stream.h"
#include "cinnabar/data/regularisation.h"

namespace cinnabar::data {

namespace {

using base::Purpose;
using base::RandomStream;

// Keys of the shuffles of an epoch: 0 for the batches, then one a bucket.
constexpr uint64_t kBatchesKey = 0;

std::map<Size, std::vector<BatchItem>> items_by_bucket(const Dataset& dataset, const std::vector<int64_t>& repeats,
                                                       uint64_t& next_item) {
  std::map<Size, std::vector<BatchItem>> buckets;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    for (int64_t occurrence = 0; occurrence < repeats.at(i); ++occurrence) {
      buckets[sample.bucket.bucket].push_back({.sample = i, .occurrence = occurrence, .item = next_item++});
    }
  }
  return buckets;
}

}  // namespace

std::vector<BucketCount> bucket_counts(const Dataset& dataset) {
  std::map<Size, int64_t> counts;
  for (const Sample& sample : dataset.samples) {
    if (sample.repeats > 0) counts[sample.bucket.bucket] += sample.repeats;
  }
  std::vector<BucketCount> result;
  for (const auto& [size, items] : counts) result.push_back({size, items});
  return result;
}

int64_t batch_count(const std::vector<Dataset>& datasets) {
  int64_t count = 0;
  for (const Dataset& dataset : datasets) {
    const int64_t batch_size = dataset.options.batch_size;
    for (const BucketCount& bucket : bucket_counts(dataset)) count += (bucket.items + batch_size - 1) / batch_size;
  }
  return count;
}

int64_t batch_count(const std::vector<Dataset>& datasets, uint64_t seed, uint64_t epoch) {
  int64_t count = 0;
  for (const Dataset& dataset : datasets) {
    const std::vector<int64_t> repeats = repeats_in_epoch(dataset, seed, epoch);
    std::map<Size, int64_t> items;
    for (size_t i = 0; i < repeats.size(); ++i) items[dataset.samples[i].bucket.bucket] += repeats[i];
    const int64_t batch_size = dataset.options.batch_size;
    for (const auto& [size, number] : items) count += (number + batch_size - 1) / batch_size;
  }
  return count;
}

std::vector<Batch> plan_epoch(const std::vector<Dataset>& datasets, uint64_t seed, uint64_t epoch) {
  std::vector<Batch> batches;
  uint64_t next_item = 0;
  uint64_t next_bucket = kBatchesKey + 1;
  for (size_t d = 0; d < datasets.size(); ++d) {
    const auto batch_size = static_cast<size_t>(datasets[d].options.batch_size);
    for (auto& [size, items] : items_by_bucket(datasets[d], repeats_in_epoch(datasets[d], seed, epoch), next_item)) {
      RandomStream order(seed, Purpose::Shuffle, epoch, next_bucket++);
      order.shuffle(std::span(items));
      for (BatchItem& item : items) {
        const Sample& sample = datasets[d].samples[item.sample];
        if (!datasets[d].options.subsets.at(sample.subset).flip_aug) continue;
        item.is_flipped = RandomStream(seed, Purpose::Flip, epoch, item.item).uniform() < 0.5;
      }
      for (size_t start = 0; start < items.size(); start += batch_size) {
        const std::span<const BatchItem> part =
            std::span(items).subspan(start, std::min(batch_size, items.size() - start));
        batches.push_back({.dataset = d, .size = size, .items = {part.begin(), part.end()}});
      }
    }
  }
  RandomStream order(seed, Purpose::Shuffle, epoch, kBatchesKey);
  order.shuffle(std::span(batches));
  return batches;
}

}  // namespace cinnabar::data
