#include "cinnabar/optim/blockwise_kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace cinnabar::optim {

namespace {

constexpr int kExponents = 7;  // decades: 1e-6 to 1

// Middles of `count` - 1 even parts of [0.1, 1], in fp32, from both ends and rounded once, as the reference's levels
// come about.
std::vector<float> middles(int64_t count) {
  const float step = (1.0F - 0.1F) / static_cast<float>(count - 1);
  std::vector<float> borders;
  for (int64_t i = 0; i < count; ++i) {
    borders.push_back(i < count / 2 ? std::fma(step, static_cast<float>(i), 0.1F)
                                    : std::fma(-step, static_cast<float>(count - i - 1), 1.0F));
  }
  std::vector<float> result;
  for (size_t i = 0; i + 1 < borders.size(); ++i) result.push_back((borders[i] + borders[i + 1]) / 2.0F);
  return result;
}

// Each decade has twice as many levels as the one below.
std::vector<float> dynamic_levels(bool is_signed) {
  std::vector<float> levels{0.0F, 1.0F};
  for (int i = 0; i < kExponents; ++i) {
    const auto scale = static_cast<float>(std::pow(10.0, i - (kExponents - 1)));
    const int64_t borders = (int64_t{1} << (is_signed ? i : i + 1)) + 1;
    for (const float middle : middles(borders)) {
      levels.push_back(scale * middle);
      if (is_signed) levels.push_back(-scale * middle);
    }
  }
  std::sort(levels.begin(), levels.end());
  return levels;
}

// The largest float that is not above `value`: comparing floats with it is comparing them with `value`.
float rounded_down(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) > value ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
                                              : nearest;
}

uint8_t advanced(const CodeLevels& levels, uint8_t code, float value) {
  while (value > levels.threshold[code]) ++code;
  return code;
}

CodeLevels make_levels(bool is_signed) {
  CodeLevels result;
  const std::vector<float> levels = dynamic_levels(is_signed);
  for (size_t i = 0; i < 256; ++i) result.level[i] = levels.at(i);
  for (size_t i = 0; i + 1 < 256; ++i) {
    const double middle = (static_cast<double>(result.level[i]) + static_cast<double>(result.level[i + 1])) / 2.0;
    result.threshold[i] = rounded_down(middle);
  }
  result.threshold[255] = std::numeric_limits<float>::infinity();
  result.first.resize(65536);
  for (uint32_t key = 0; key < 65536; ++key) {
    // Rising bits are rising magnitudes: of a negative number the last one is the smallest.
    const uint32_t bits = key << 16U | (key >= 32768 ? 0xFFFFU : 0U);
    const auto value = std::bit_cast<float>(bits);
    result.first[key] = std::isfinite(value) ? advanced(result, 0, value) : uint8_t{0};
  }
  return result;
}

uint8_t nearest(const CodeLevels& levels, float value) {
  return advanced(levels, levels.first[std::bit_cast<uint32_t>(value) >> 16U], value);
}

}  // namespace

const CodeLevels& signed_levels() {
  static const CodeLevels levels = make_levels(true);
  return levels;
}

const CodeLevels& unsigned_levels() {
  static const CodeLevels levels = make_levels(false);
  return levels;
}

void quantize_blocks(const float* values, int64_t count, int64_t block, const CodeLevels& levels, uint8_t* codes,
                     float* scales) {
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t end = std::min(begin + block, count);
    float largest = 0.0F;
    for (int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
    *scales++ = largest;
    const float divisor = largest > 0.0F ? largest : 1.0F;
    for (int64_t i = begin; i < end; ++i) codes[i] = nearest(levels, values[i] / divisor);
  }
}

void dequantize_blocks(const uint8_t* codes, const float* scales, int64_t count, int64_t block,
                       const CodeLevels& levels, float* values) {
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t end = std::min(begin + block, count);
    const float scale = *scales++;
    for (int64_t i = begin; i < end; ++i) values[i] = levels.level[codes[i]] * scale;
  }
}

}  // namespace cinnabar::optim
