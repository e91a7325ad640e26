// Which source pixels, with which weights, make each pixel of a resized row or column.
#pragma once

#include <cstdint>
#include <vector>

#include "cinnabar/data/resize.h"

namespace cinnabar::data {

// Output pixel i is the sum over t < count[i] of weights[i * stride + t] * source[start[i] + t].
struct ResampleTable {
  size_t stride = 0;
  std::vector<size_t> start;
  std::vector<size_t> count;
  std::vector<double> weights;
};

// Tables as Pillow makes them (Lanczos, Box).
ResampleTable pillow_table(int64_t from, int64_t to, Interpolation interpolation);
// Tables as OpenCV makes them (Area, Bilinear, Bicubic). `is_shrinking`: neither axis grows; Area is linear otherwise.
ResampleTable opencv_table(int64_t from, int64_t to, Interpolation interpolation, bool is_shrinking);
// Source index of each output pixel as OpenCV's INTER_NEAREST_EXACT takes it.
std::vector<size_t> nearest_indices(int64_t from, int64_t to);

}  // namespace cinnabar::data
