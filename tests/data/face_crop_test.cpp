#include "cinnabar/data/face_crop.h"

#include <doctest/doctest.h>

#include <set>

namespace cinnabar::data {
namespace {

base::RandomStream stream(uint64_t item) { return {3, base::Purpose::Crop, 1, item}; }

TEST_CASE("the_last_four_of_five_parts_are_the_face") {
  CHECK(face_from_name("d/photo_120_80_60_72.png") == Face{120, 80, 60, 72});
  CHECK(face_from_name("a_b_1_2_3_4.jpg") == Face{1, 2, 3, 4});
  CHECK_FALSE(face_from_name("120_80_60_72.png"));       // four parts
  CHECK_FALSE(face_from_name("photo_120_80_x_72.png"));  // no number
  CHECK_FALSE(face_from_name("photo_0_80_60_72.png"));   // no centre
  CHECK_FALSE(face_from_name("photo_120_80_0_0.png"));   // no size
  CHECK_FALSE(face_from_name("photo_120_80_60_99999999999999999999.png"));
}

TEST_CASE("a_fixed_range_gives_one_scale_with_the_face_in_the_middle") {
  // Face 100 wide, target 128, two faces wide: 128 / 200 = 0.64 of the picture.
  base::RandomStream random = stream(0);
  const FaceCut cut =
      face_cut({.picture = {1000, 800}, .target = {128, 128}, .range = {2.0, 2.0}}, {500, 300, 100, 90}, random);
  CHECK(cut.resized == Size{640, 512});
  CHECK(cut.offset == Offset{.left = 320 - 64, .top = 192 - 64});
}

TEST_CASE("the_cut_stays_inside_and_never_grows_the_picture") {
  for (uint64_t item = 0; item < 200; ++item) {
    base::RandomStream random = stream(item);
    for (const bool roams : {false, true}) {
      const FaceCutRule rule = {.picture = {300, 200}, .target = {128, 96}, .range = {1.0, 3.0}, .roams = roams};
      const FaceCut cut = face_cut(rule, {290, 5, 50, 60}, random);
      REQUIRE(cut.resized.width >= 128);
      REQUIRE(cut.resized.height >= 96);
      REQUIRE(cut.resized.width <= 300);
      REQUIRE(cut.offset.left >= 0);
      REQUIRE(cut.offset.top >= 0);
      REQUIRE(cut.offset.left + 128 <= cut.resized.width);
      REQUIRE(cut.offset.top + 96 <= cut.resized.height);
    }
  }
}

TEST_CASE("a_range_draws_the_scale_within_it") {
  std::set<int64_t> widths;
  for (uint64_t item = 0; item < 100; ++item) {
    base::RandomStream random = stream(item);
    const FaceCut cut =
        face_cut({.picture = {1000, 1000}, .target = {200, 200}, .range = {1.0, 2.0}}, {500, 500, 200, 200}, random);
    // From 200 / (200 * 2) to 200 / (200 * 1) of 1000.
    REQUIRE(cut.resized.width >= 500);
    REQUIRE(cut.resized.width <= 1000);
    widths.insert(cut.resized.width);
  }
  CHECK(widths.size() > 50);
}

}  // namespace
}  // namespace cinnabar::data
