#include "cinnabar/data/bucket.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace cinnabar::data {
namespace {

BucketOptions with_buckets(Size resolution = {512, 512}) { return {.resolution = resolution, .enable_bucket = true}; }

TEST_CASE("predefined_buckets_are_sorted_and_stay_below_the_area") {
  const BucketRule rule(with_buckets());
  REQUIRE(rule.predefined().size() == 17);
  CHECK(rule.predefined().front() == Size{256, 832});
  CHECK(rule.predefined().back() == Size{1024, 256});
  for (const Size& size : rule.predefined()) {
    CHECK(size.width * size.height <= 512 * 512);
    CHECK(size.width % 64 == 0);
    CHECK(size.height % 64 == 0);
  }
}

TEST_CASE("the_nearest_aspect_is_chosen_and_covered") {
  const BucketRule rule(with_buckets());
  const BucketChoice choice = rule.choose({768, 512});
  CHECK(choice.bucket == Size{640, 384});
  CHECK(choice.resized == Size{640, 427});
  CHECK(choice.aspect_error == doctest::Approx(640.0 / 384.0 - 1.5));
  CHECK(centre_offset(choice.resized, choice.bucket) == Offset{0, 21});
  CHECK(rule.choose({300, 200}).bucket == choice.bucket);
}

TEST_CASE("a_smallest_side_below_the_step_says_which_step_would_do") {
  BucketOptions options = with_buckets({64, 64});
  options.min_bucket_reso = 32;
  std::vector<std::string> notes;
  CHECK_THROWS_WITH_AS(
      prepared(options, notes),
      "min_bucket_reso = 32: smaller than bucket_reso_steps = 64, of which it must be a multiple; give "
      "a bucket_reso_steps of at most 32 too, or a larger min_bucket_reso",
      base::Error);
}

TEST_CASE("a_picture_of_a_bucket's_size_takes_it_although_another_has_the_same_aspect") {
  BucketOptions options = with_buckets({1024, 1024});
  options.max_bucket_reso = 2048;
  options.bucket_reso_steps = 32;
  const BucketRule rule(options);
  for (const Size& size : rule.predefined()) {
    CHECK(rule.choose(size).bucket == size);
    CHECK(rule.choose(size).resized == size);
  }
}

TEST_CASE("without_upscaling_small_pictures_keep_their_pixels") {
  BucketOptions options = with_buckets();
  options.bucket_no_upscale = true;
  const BucketRule rule(options);
  CHECK(rule.predefined().empty());
  const BucketChoice small = rule.choose({300, 200});
  CHECK(small.resized == Size{300, 200});
  CHECK(small.bucket == Size{256, 192});
  CHECK(rule.choose({768, 512}).bucket == Size{576, 384});
}

TEST_CASE("pictures_that_give_an_empty_bucket_are_refused") {
  BucketOptions options = with_buckets();
  options.bucket_no_upscale = true;
  const BucketRule rule(options);
  CHECK_THROWS_AS((void)rule.choose({63, 500}), base::Error);
  CHECK_THROWS_AS((void)rule.choose({100000, 20}), base::Error);
  CHECK_THROWS_AS((void)rule.choose({0, 10}), base::Error);
}

TEST_CASE("without_buckets_every_picture_gets_the_resolution") {
  const BucketRule rule({.resolution = {640, 512}});
  CHECK(rule.predefined() == std::vector<Size>{{640, 512}});
  const BucketChoice choice = rule.choose({1000, 4000});
  CHECK(choice.bucket == Size{640, 512});
  CHECK(choice.resized == Size{640, 2560});
}

TEST_CASE("limits_are_rounded_to_the_step_and_said") {
  BucketOptions options = with_buckets();
  options.min_bucket_reso = 300;
  options.max_bucket_reso = 1000;
  std::vector<std::string> notes;
  const BucketOptions result = prepared(options, notes);
  CHECK(result.min_bucket_reso == 256);
  CHECK(result.max_bucket_reso == 1024);
  CHECK(notes.size() == 2);
}

TEST_CASE("a_resolution_outside_the_limits_is_a_config_error") {
  std::vector<std::string> notes;
  CHECK_THROWS_AS((void)prepared(with_buckets({1280, 768}), notes), base::Error);
  CHECK_THROWS_AS((void)prepared(with_buckets({512, 128}), notes), base::Error);
  BucketOptions tiny = with_buckets();
  tiny.min_bucket_reso = 20;
  CHECK_THROWS_AS((void)prepared(tiny, notes), base::Error);
  BucketOptions free = with_buckets({1280, 768});
  free.bucket_no_upscale = true;
  CHECK_NOTHROW((void)prepared(free, notes));
}

TEST_CASE("size_conditioning_numbers_come_from_both_sizes") {
  const CropNumbers wide = crop_numbers({640, 384}, {768, 512});
  CHECK(wide.left == 32.0);
  CHECK(wide.top == 0.0);
  CHECK(wide.right == 608.0);
  CHECK(wide.bottom == 384.0);
  const CropNumbers tall = crop_numbers({512, 512}, {513, 511});
  CHECK(tall.left == 0.0);
  CHECK(tall.top == 0.0);
  CHECK(tall.bottom == doctest::Approx(510.0038986354775));
}

}  // namespace
}  // namespace cinnabar::data
