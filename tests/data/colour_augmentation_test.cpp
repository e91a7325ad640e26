#include "cinnabar/data/colour_augmentation.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>

namespace cinnabar::data {
namespace {

using Pixels = std::vector<std::array<int, 3>>;

const Pixels kPixels = {{121, 131, 193}, {243, 8, 36},    {210, 242, 63},  {79, 222, 108}, {69, 211, 65},
                        {104, 164, 140}, {21, 7, 221},    {192, 214, 137}, {255, 0, 0},    {10, 200, 10},
                        {0, 0, 255},     {255, 255, 254}, {128, 128, 128}, {3, 2, 1}};

Picture picture_of(const Pixels& pixels, int64_t channels = 3) {
  Picture picture = blank_picture({static_cast<int64_t>(pixels.size()), 1}, channels);
  for (size_t i = 0; i < pixels.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) {
      picture.pixels[i * static_cast<size_t>(channels) + c] = static_cast<uint8_t>(pixels[i][c]);
    }
  }
  return picture;
}

int largest_difference(const Picture& picture, const Pixels& expected) {
  int largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) {
      largest =
          std::max(largest, std::abs(picture.pixels[i * static_cast<size_t>(picture.channels) + c] - expected[i][c]));
    }
  }
  return largest;
}

// Expected values: OpenCV 4.10 (RGB2HSV, hue shifted modulo 180 and cut, HSV2RGB). It cuts levels in fp32 and we in
// fp64, so that one pixel in a hundred differs by 1.
TEST_CASE("hue_is_turned_as_opencv_does") {
  Picture forward = picture_of(kPixels);
  shift_hue(forward, 7.5);
  CHECK(largest_difference(forward, {{128, 121, 193},
                                     {243, 31, 8},
                                     {170, 242, 63},
                                     {79, 222, 141},
                                     {65, 211, 94},
                                     {104, 164, 154},
                                     {71, 7, 221},
                                     {173, 214, 137},
                                     {255, 60, 0},
                                     {10, 200, 54},
                                     {60, 0, 255},
                                     {255, 255, 254},
                                     {128, 128, 128},
                                     {3, 2, 1}}) <= 1);
  Picture back = picture_of(kPixels);
  shift_hue(back, -3.3);
  CHECK(largest_difference(back, {{121, 140, 193},
                                  {243, 8, 70},
                                  {236, 242, 63},
                                  {79, 222, 89},
                                  {90, 211, 65},
                                  {104, 164, 132},
                                  {7, 21, 221},
                                  {201, 214, 137},
                                  {255, 0, 34},
                                  {36, 200, 10},
                                  {0, 34, 255},
                                  {255, 255, 254},
                                  {128, 128, 128},
                                  {3, 2, 1}}) <= 1);
}

TEST_CASE("gamma_is_cut_to_whole_numbers_and_at_255") {
  Picture darker = picture_of(kPixels);
  apply_gamma(darker, 0.95);
  CHECK(largest_difference(darker, {{95, 102, 148},
                                    {184, 7, 30},
                                    {160, 183, 51},
                                    {63, 169, 85},
                                    {55, 161, 52},
                                    {82, 127, 109},
                                    {18, 6, 168},
                                    {147, 163, 107},
                                    {193, 0, 0},
                                    {8, 153, 8},
                                    {0, 0, 193},
                                    {193, 193, 192},
                                    {100, 100, 100},
                                    {2, 1, 1}}) == 0);
  Picture lighter = picture_of(kPixels);
  apply_gamma(lighter, 1.05);
  CHECK(largest_difference(lighter, {{153, 167, 251}, {255, 8, 43}}) == 0);
}

TEST_CASE("a_third_of_the_draws_changes_and_alpha_never") {
  int changed = 0;
  for (uint64_t item = 0; item < 600; ++item) {
    Picture picture = picture_of(kPixels, 4);
    const std::vector<uint8_t> before = picture.pixels;
    base::RandomStream random(1, base::Purpose::Colour, 1, item);
    augment_colour(picture, random);
    changed += picture.pixels != before ? 1 : 0;
    for (size_t i = 3; i < picture.pixels.size(); i += 4) REQUIRE(picture.pixels[i] == 0);
  }
  // 600 draws of 0.33: mean 198, standard deviation 11.5; shifts of less than one unit of hue change nothing.
  CHECK(changed > 140);
  CHECK(changed < 245);
}

}  // namespace
}  // namespace cinnabar::data
