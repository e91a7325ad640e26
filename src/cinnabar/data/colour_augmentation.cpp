#include "cinnabar/data/colour_augmentation.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cinnabar::data {

namespace {

// sd-scripts (library/train_util.py, AugHelper): how often, and how far.
constexpr double kChance = 0.33;
constexpr double kHueReach = 8.0;  // of 180
constexpr double kGammaReach = 0.05;
constexpr int kHues = 180;

struct Hsv {
  int hue = 0;  // 0..179: two degrees each
  int saturation = 0;
  int value = 0;
};

// OpenCV works with rounded quotients of 12 binary places; they show in the last digit of hue and saturation.
constexpr int kPlaces = 12;

int quotient(double numerator, int denominator) {
  return static_cast<int>(std::lrint(numerator * (1 << kPlaces) / denominator));
}

int without_places(int x) { return (x + (1 << (kPlaces - 1))) >> kPlaces; }

Hsv hsv_of(const uint8_t* rgb) {
  const int r = rgb[0];
  const int g = rgb[1];
  const int b = rgb[2];
  const int value = std::max({r, g, b});
  const int spread = value - std::min({r, g, b});
  if (spread == 0) return {0, 0, value};
  const int sector = value == r ? g - b : (value == g ? b - r + 2 * spread : r - g + 4 * spread);
  const int hue = without_places(sector * quotient(kHues / 6.0, spread));
  return {hue < 0 ? hue + kHues : hue, without_places(spread * quotient(255.0, value)), value};
}

void write_rgb(const Hsv& hsv, uint8_t* rgb) {
  const double sixth = hsv.hue / 30.0;
  const int sector = static_cast<int>(sixth) % 6;
  const double part = sixth - std::floor(sixth);
  const double saturation = hsv.saturation / 255.0;
  const double value = hsv.value;
  const auto level = [&](double loss) {
    return static_cast<uint8_t>(std::clamp(static_cast<int>(value * (1.0 - saturation * loss)), 0, 255));
  };
  const uint8_t most = static_cast<uint8_t>(hsv.value);
  const uint8_t least = level(1.0);
  const uint8_t falling = level(part);
  const uint8_t rising = level(1.0 - part);
  const std::array<std::array<uint8_t, 3>, 6> colours = {{{most, rising, least},
                                                          {falling, most, least},
                                                          {least, most, rising},
                                                          {least, falling, most},
                                                          {rising, least, most},
                                                          {most, least, falling}}};
  std::copy_n(colours[static_cast<size_t>(sector)].begin(), 3, rgb);
}

}  // namespace

void shift_hue(Picture& picture, double shift) {
  for (size_t i = 0; i + 2 < picture.pixels.size(); i += static_cast<size_t>(picture.channels)) {
    uint8_t* pixel = picture.pixels.data() + i;
    Hsv hsv = hsv_of(pixel);
    hsv.hue = static_cast<int>(std::fmod(hsv.hue + shift + kHues, kHues));
    write_rgb(hsv, pixel);
  }
}

void apply_gamma(Picture& picture, double gamma) {
  std::array<uint8_t, 256> table{};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<uint8_t>(std::clamp(std::pow(static_cast<double>(i), gamma), 0.0, 255.0));
  }
  for (size_t i = 0; i + 2 < picture.pixels.size(); i += static_cast<size_t>(picture.channels)) {
    for (size_t c = 0; c < 3; ++c) picture.pixels[i + c] = table[picture.pixels[i + c]];
  }
}

void augment_colour(Picture& picture, base::RandomStream& random) {
  if (random.uniform() > kChance) return;
  if (random.uniform() > 0.5) {
    shift_hue(picture, kHueReach * (2.0 * random.uniform() - 1.0));
  } else {
    apply_gamma(picture, 1.0 + kGammaReach * (2.0 * random.uniform() - 1.0));
  }
}

}  // namespace cinnabar::data
