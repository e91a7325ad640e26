#include "cinnabar/data/regularisation.h"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "cinnabar/data/batch_plan.h"

namespace cinnabar::data {
namespace {

// `train` pictures of `repeats`, and one regularisation subset for each number of own repeats in `reg`.
Dataset dataset_with_reg(int64_t train, int64_t repeats, const std::vector<int64_t>& reg) {
  const Size size{512, 512};
  Dataset dataset;
  dataset.options.subsets.push_back({.num_repeats = repeats});
  for (int64_t i = 0; i < train; ++i) dataset.samples.push_back({.bucket = {.bucket = size, .resized = size}});
  for (const int64_t own : reg) {
    dataset.options.subsets.push_back({.is_reg = true, .num_repeats = own});
    dataset.samples.push_back(
        {.bucket = {.bucket = size, .resized = size}, .is_reg = true, .subset = dataset.options.subsets.size() - 1});
  }
  balance_regularisation(dataset);
  return dataset;
}

std::vector<int64_t> reg_repeats(const Dataset& dataset, uint64_t seed, uint64_t epoch) {
  const std::vector<int64_t> all = repeats_in_epoch(dataset, seed, epoch);
  std::vector<int64_t> result;
  for (size_t i = 0; i < all.size(); ++i) {
    if (dataset.samples[i].is_reg) result.push_back(all[i]);
  }
  return result;
}

int64_t sum(const std::vector<int64_t>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), int64_t{0}); }

TEST_CASE("all_regularisation_pictures_come_up_over_the_epochs") {
  // 10 pictures with 2 repeats, 100 of regularisation: 20 an epoch, all of them in five.
  const Dataset dataset = dataset_with_reg(10, 2, std::vector<int64_t>(100, 1));
  CHECK(rotates(dataset));
  std::vector<int64_t> seen(100);
  for (uint64_t epoch = 1; epoch <= 10; ++epoch) {
    const std::vector<int64_t> repeats = reg_repeats(dataset, 7, epoch);
    CHECK(sum(repeats) == 20);
    for (size_t i = 0; i < 100; ++i) seen[i] += repeats[i];
    if (epoch == 5) CHECK(seen == std::vector<int64_t>(100, 1));
  }
  CHECK(seen == std::vector<int64_t>(100, 2));
}

TEST_CASE("the_first_epoch_is_the_reference_order_and_later_ones_go_by_seed") {
  const Dataset dataset = dataset_with_reg(10, 2, std::vector<int64_t>(100, 1));
  std::vector<int64_t> first(100);
  std::fill_n(first.begin(), 20, 1);
  CHECK(reg_repeats(dataset, 7, 1) == first);
  CHECK(reg_repeats(dataset, 7, 2) == reg_repeats(dataset, 7, 2));
  CHECK(reg_repeats(dataset, 7, 2) != reg_repeats(dataset, 8, 2));
  CHECK(reg_repeats(dataset, 7, 2) != reg_repeats(dataset, 7, 3));
  // Far epochs cost no walk through all before: places repeat.
  CHECK(reg_repeats(dataset, 7, 1'000'000'001) == first);
}

TEST_CASE("unequal_repeats_all_come_up_too") {
  const Dataset dataset = dataset_with_reg(3, 2, {5, 1, 1, 7, 2, 1, 1});
  std::set<size_t> seen;
  for (uint64_t epoch = 1; epoch <= 20; ++epoch) {
    const std::vector<int64_t> repeats = reg_repeats(dataset, 1, epoch);
    CHECK(sum(repeats) >= 6);
    for (size_t i = 0; i < repeats.size(); ++i) {
      if (repeats[i] > 0) seen.insert(i);
    }
  }
  CHECK(seen.size() == 7);
}

TEST_CASE("too_few_pictures_take_the_surplus_in_turn") {
  const Dataset dataset = dataset_with_reg(7, 1, {1, 1, 1});
  CHECK(reg_repeats(dataset, 1, 1) == std::vector<int64_t>{3, 2, 2});
  std::vector<int64_t> seen(3);
  for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
    const std::vector<int64_t> repeats = reg_repeats(dataset, 1, epoch);
    CHECK(sum(repeats) == 7);
    for (size_t i = 0; i < 3; ++i) seen[i] += repeats[i];
  }
  CHECK(seen == std::vector<int64_t>{7, 7, 7});
  CHECK_FALSE(rotates(dataset_with_reg(6, 1, {1, 1, 1})));
  CHECK_FALSE(rotates(dataset_with_reg(6, 1, {})));
}

TEST_CASE("plans_of_epochs_hold_what_rotates") {
  const std::vector<Dataset> datasets = {dataset_with_reg(2, 1, {1, 1, 1, 1})};
  std::set<size_t> seen;
  for (uint64_t epoch = 1; epoch <= 2; ++epoch) {
    int64_t items = 0;
    for (const Batch& batch : plan_epoch(datasets, 5, epoch)) {
      for (const BatchItem& item : batch.items) {
        seen.insert(item.sample);
        ++items;
      }
    }
    CHECK(items == 4);
    CHECK(batch_count(datasets, 5, epoch) == 4);
  }
  CHECK(seen.size() == 6);
}

TEST_CASE("what_leaves_a_data_set_changes_the_balance") {
  Dataset dataset = dataset_with_reg(4, 1, {1, 1, 1, 1, 1});
  CHECK(dataset.item_count() == 8);
  remove_samples(dataset, {0, 1, 5});
  CHECK(dataset.samples.size() == 6);
  CHECK(dataset.item_count() == 4);
  const RegularisationCount count = regularisation_count(dataset);
  CHECK(count.pictures == 4);
  CHECK(count.wanted == 2);
  CHECK(count.used == 2);
}

}  // namespace
}  // namespace cinnabar::data
