// Which pictures make which batch of an epoch: a function of the samples, the seed and the epoch alone.
#pragma once

#include <cstdint>
#include <vector>

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// One occurrence of a sample in an epoch.
struct BatchItem {
  size_t sample = 0;       // index into Dataset::samples
  int64_t occurrence = 0;  // below its repeats in this epoch
  uint64_t item = 0;       // number of this occurrence over all data sets: the key of its random streams
  bool is_flipped = false;
  friend bool operator==(const BatchItem&, const BatchItem&) = default;
};

struct Batch {
  size_t dataset = 0;
  Size size;  // of its bucket, the same for all its items
  std::vector<BatchItem> items;
  friend bool operator==(const Batch&, const Batch&) = default;
};

struct BucketCount {
  Size size;
  int64_t items = 0;  // with repeats
  friend bool operator==(const BucketCount&, const BucketCount&) = default;
};

// Of the first epoch, ascending by size.
std::vector<BucketCount> bucket_counts(const Dataset& dataset);

// Batches in the first epoch: for each bucket the items by batch_size, the last one short. Later epochs have as many,
// but for data sets whose regularisation pictures change from epoch to epoch (regularisation.h).
int64_t batch_count(const std::vector<Dataset>& datasets);
int64_t batch_count(const std::vector<Dataset>& datasets, uint64_t seed, uint64_t epoch);

// All batches of an epoch (from 1) in the order of training. Each occurrence of each sample stands in exactly one.
// In a bucket the items are shuffled and cut into batches; then the batches of all data sets are shuffled.
std::vector<Batch> plan_epoch(const std::vector<Dataset>& datasets, uint64_t seed, uint64_t epoch);

}  // namespace cinnabar::data
