#include "cinnabar/data/validation_split.h"

#include <algorithm>
#include <set>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace cinnabar;

// `count` pictures in each of two folders and as many for regularisation.
data::Dataset dataset(int count, double split) {
  data::Dataset made;
  made.options.validation_split = split;
  for (size_t subset = 0; subset < 3; ++subset) {
    data::SubsetOptions options;
    options.num_repeats = 2;
    options.is_reg = subset == 2;
    options.caption.caption_dropout_rate = 0.5;
    made.options.subsets.push_back(options);
    for (int i = 0; i < count; ++i) {
      made.samples.push_back({.path = std::to_string(subset) + "/" + std::to_string(i),
                              .repeats = 2,
                              .is_reg = options.is_reg,
                              .subset = subset});
    }
  }
  return made;
}

std::set<std::string> paths(const std::vector<data::Dataset>& datasets) {
  std::set<std::string> found;
  for (const data::Dataset& one : datasets) {
    for (const data::Sample& sample : one.samples) found.insert(sample.path.string());
  }
  return found;
}

}  // namespace

TEST_CASE("the_parts_have_no_picture_in_common_and_lose_none") {
  std::vector<data::Dataset> rest = {dataset(10, 0.3)};
  const std::vector<data::Dataset> taken = data::take_validation(rest, 7);
  const auto in_rest = paths(rest);
  const auto in_taken = paths(taken);
  CHECK(in_taken.size() == 6);  // 3 of each folder
  CHECK(std::ranges::none_of(in_taken, [&](const auto& path) { return in_rest.contains(path); }));
  CHECK(std::ranges::count_if(in_rest, [](const auto& path) { return !path.starts_with("2/"); }) == 14);
}

TEST_CASE("a_picture_of_two_data_sets_is_in_one_part_of_both") {
  // The second one lacks a picture, as after a fault, so that its shuffle differs.
  std::vector<data::Dataset> rest = {dataset(10, 0.3), dataset(10, 0.3)};
  rest[1].samples.erase(rest[1].samples.begin());
  const std::vector<data::Dataset> taken = data::take_validation(rest, 7);
  REQUIRE(taken.size() == 2);
  const auto in_rest = paths(rest);
  CHECK(std::ranges::none_of(paths(taken), [&](const auto& path) { return in_rest.contains(path); }));
  // Equal data sets are cut alike.
  std::vector<data::Dataset> equal = {dataset(10, 0.3), dataset(10, 0.3)};
  const std::vector<data::Dataset> parts = data::take_validation(equal, 7);
  CHECK(paths({parts[0]}) == paths({parts[1]}));
}

TEST_CASE("held_out_pictures_count_once_without_dropouts_or_regularisation") {
  std::vector<data::Dataset> rest = {dataset(10, 0.3)};
  const std::vector<data::Dataset> taken = data::take_validation(rest, 7);
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().item_count() == 6);
  CHECK(std::ranges::none_of(taken.front().samples, &data::Sample::is_reg));
  for (const data::SubsetOptions& subset : taken.front().options.subsets) {
    CHECK(subset.caption.caption_dropout_rate == 0.0);
  }
  CHECK(rest.front().options.subsets.front().caption.caption_dropout_rate == 0.5);
}

TEST_CASE("regularisation_is_balanced_against_what_remains") {
  std::vector<data::Dataset> rest = {dataset(10, 0.5)};
  data::take_validation(rest, 7);
  int64_t trained = 0;
  int64_t regularisation = 0;
  for (const data::Sample& sample : rest.front().samples) (sample.is_reg ? regularisation : trained) += sample.repeats;
  CHECK(trained == 20);
  CHECK(regularisation == 20);
}

TEST_CASE("the_choice_follows_the_seed_of_the_data_set_before_that_of_the_run") {
  const auto chosen = [](std::optional<int64_t> own, uint64_t seed) {
    std::vector<data::Dataset> rest = {dataset(20, 0.3)};
    rest.front().options.validation_seed = own;
    return paths(data::take_validation(rest, seed));
  };
  CHECK(chosen({}, 1) == chosen({}, 1));
  CHECK(chosen({}, 1) != chosen({}, 2));
  CHECK(chosen(5, 1) == chosen(5, 2));
  CHECK(chosen(5, 1) == chosen({}, 5));
}

TEST_CASE("shares_below_one_picture_and_of_zero_take_nothing") {
  std::vector<data::Dataset> rest = {dataset(3, 0.3), dataset(3, 0.0)};
  CHECK(data::take_validation(rest, 7).empty());
  CHECK(rest.front().samples.size() == 9);
}
