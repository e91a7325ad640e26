// Rank and alpha of one layer's adapter (no torch).
#pragma once

#include <cstdint>

namespace cinnabar::adapters {

// The numerator of the scale alpha / rank. Whole numbers given as such are written as I64 scalars, others as F32, the
// way the reference tool does (the type of an alpha follows the value as it was given).
struct Alpha {
  double value = 1.0;  // 0 means the rank
  bool is_whole = true;
  friend bool operator==(const Alpha&, const Alpha&) = default;
};

struct LayerRank {
  int64_t rank = 4;
  Alpha alpha{};
  friend bool operator==(const LayerRank&, const LayerRank&) = default;
};

}  // namespace cinnabar::adapters
