#include "cinnabar/sample/grid.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::sample;

data::Picture filled(data::Size size, uint8_t value, int64_t channels = 3) {
  data::Picture picture = data::blank_picture(size, channels);
  std::fill(picture.pixels.begin(), picture.pixels.end(), value);
  return picture;
}

uint8_t grey_at(const data::Picture& picture, int64_t x, int64_t y) {
  return picture.pixels[static_cast<size_t>((y * picture.width + x) * 3)];
}

}  // namespace

TEST_CASE("pictures_stand_row_by_row_with_white_between_them") {
  const std::vector<data::Picture> pictures{filled({4, 2}, 10), filled({4, 2}, 20), filled({4, 2}, 30)};
  const data::Picture grid = join_grid(pictures, {.columns = 2, .gap_px = 1});
  CHECK(grid.size() == data::Size{9, 5});
  CHECK(grey_at(grid, 3, 1) == 10);
  CHECK(grey_at(grid, 4, 1) == 255);
  CHECK(grey_at(grid, 5, 0) == 20);
  CHECK(grey_at(grid, 0, 3) == 30);
  CHECK(grey_at(grid, 0, 2) == 255);
  CHECK(grey_at(grid, 8, 4) == 255);  // an empty cell
}

TEST_CASE("smaller_pictures_stand_in_the_middle_of_their_cell") {
  const std::vector<data::Picture> pictures{filled({2, 2}, 10, 4), filled({4, 4}, 20)};
  const data::Picture grid = join_grid(pictures, {.columns = 1, .gap_px = 0});
  CHECK(grid.size() == data::Size{4, 8});
  CHECK(grey_at(grid, 0, 1) == 255);
  CHECK(grey_at(grid, 1, 1) == 10);
  CHECK(grey_at(grid, 2, 2) == 10);
  CHECK(grey_at(grid, 3, 3) == 255);
  CHECK(grey_at(grid, 0, 4) == 20);
}

TEST_CASE("without_columns_a_grid_is_about_square") {
  const std::vector<data::Picture> pictures(5, filled({2, 2}, 0));
  CHECK(join_grid(pictures, {.gap_px = 0}).size() == data::Size{6, 4});
}

TEST_CASE("a_grid_of_nothing_is_an_error") { CHECK_THROWS_AS(join_grid({}), base::Error); }
