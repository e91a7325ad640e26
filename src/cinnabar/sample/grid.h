// Several pictures as one (no torch).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cinnabar/data/picture.h"

namespace cinnabar::sample {

struct GridOptions {
  int64_t columns = 0;  // 0: about as many as rows
  int64_t gap_px = 4;
  std::array<uint8_t, 3> background{255, 255, 255};
};

// Row by row; every cell is as large as the largest picture, smaller ones stand in its middle. Alpha is dropped. Throws
// Error{Data} without pictures, and for a grid beyond 2^28 pixels.
data::Picture join_grid(std::span<const data::Picture> pictures, const GridOptions& options = {});

}  // namespace cinnabar::sample
