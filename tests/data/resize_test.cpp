#include "cinnabar/data/resize.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/data/resample_table.h"

namespace cinnabar::data {
namespace {

Picture grey_row(std::vector<uint8_t> values) {
  Picture picture = blank_picture({static_cast<int64_t>(values.size()), 1}, 3);
  for (size_t i = 0; i < picture.pixels.size(); ++i) picture.pixels[i] = values[i / 3];
  return picture;
}

std::vector<int> row_of(const Picture& picture) {
  std::vector<int> row;
  for (int64_t x = 0; x < picture.width; ++x) row.push_back(picture.pixels[static_cast<size_t>(x * picture.channels)]);
  return row;
}

TEST_CASE("area_is_the_mean_of_what_a_pixel_covers") {
  CHECK(row_of(resized(grey_row({0, 100, 200, 40}), {2, 1}, Interpolation::Area)) == std::vector<int>{50, 120});
  // 3 to 2: a pixel and half of the next.
  CHECK(row_of(resized(grey_row({0, 90, 180}), {2, 1}, Interpolation::Area)) == std::vector<int>{30, 150});
}

TEST_CASE("the_default_is_area_unless_a_side_grows") {
  CHECK(default_interpolation({10, 10}, {10, 5}) == Interpolation::Area);
  CHECK(default_interpolation({10, 10}, {11, 5}) == Interpolation::Lanczos);
  const Picture picture = grey_row({0, 255, 0, 255, 30});
  CHECK(resized(picture, {3, 1}).pixels == resized(picture, {3, 1}, Interpolation::Area).pixels);
  CHECK(resized(picture, {9, 2}).pixels == resized(picture, {9, 2}, Interpolation::Lanczos).pixels);
}

TEST_CASE("every_interpolation_keeps_a_flat_picture_flat") {
  Picture flat = blank_picture({7, 5}, 4);
  for (size_t i = 0; i < flat.pixels.size(); ++i) flat.pixels[i] = i % 4 == 3 ? 255 : 77;
  for (const char* name : {"lanczos", "nearest", "bilinear", "linear", "bicubic", "cubic", "area", "box"}) {
    for (const Size target : {Size{3, 2}, Size{19, 11}, Size{3, 11}, Size{1, 1}}) {
      const Picture result = resized(flat, target, interpolation_from(name));
      CHECK(result.size() == target);
      for (size_t i = 0; i < result.pixels.size(); ++i) CHECK(result.pixels[i] == (i % 4 == 3 ? 255 : 77));
    }
  }
}

TEST_CASE("invisible_colour_does_not_bleed_with_lanczos") {
  Picture picture = blank_picture({2, 1}, 4);
  picture.pixels = {255, 0, 0, 0, 0, 0, 255, 255};
  const Picture result = resized(picture, {4, 1}, Interpolation::Lanczos);
  for (size_t x = 0; x < 4; ++x) CHECK(result.pixels[4 * x] == 0);
}

TEST_CASE("the_exact_nearest_takes_pixel_centres") {
  CHECK(nearest_indices(4, 2) == std::vector<size_t>{1, 3});
  CHECK(nearest_indices(3, 3) == std::vector<size_t>{0, 1, 2});
  CHECK(nearest_indices(2, 4) == std::vector<size_t>{0, 0, 1, 1});
}

TEST_CASE("weights_of_every_table_sum_to_one") {
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{90, 64}, {17, 64}, {150, 1}, {1, 9}, {5, 5}}) {
    const ResampleTable tables[] = {pillow_table(from, to, Interpolation::Lanczos),
                                    pillow_table(from, to, Interpolation::Box),
                                    opencv_table(from, to, Interpolation::Area, to <= from),
                                    opencv_table(from, to, Interpolation::Bicubic, to <= from)};
    for (const ResampleTable& table : tables) {
      REQUIRE(table.start.size() == static_cast<size_t>(to));
      for (size_t i = 0; i < table.start.size(); ++i) {
        double sum = 0.0;
        for (size_t t = 0; t < table.count[i]; ++t) sum += table.weights[i * table.stride + t];
        CHECK(sum == doctest::Approx(1.0));
        CHECK(table.start[i] + table.count[i] <= static_cast<size_t>(from));
      }
    }
  }
}

TEST_CASE("fitting_resizes_and_cuts_from_the_centre") {
  Picture picture = blank_picture({4, 2}, 3);
  for (size_t i = 0; i < picture.pixels.size(); ++i) picture.pixels[i] = static_cast<uint8_t>(i / 3 % 4 * 10);
  const Picture result = fitted(picture, {.bucket = {2, 2}, .resized = {4, 2}});
  CHECK(result.size() == Size{2, 2});
  CHECK(row_of(result)[0] == 10);
  CHECK(row_of(result)[1] == 20);
}

TEST_CASE("an_unknown_interpolation_is_a_config_error_with_the_choices") {
  CHECK_THROWS_WITH_AS((void)interpolation_from("sinc"), doctest::Contains("expected one of lanczos, nearest"),
                       base::Error);
}

}  // namespace
}  // namespace cinnabar::data
