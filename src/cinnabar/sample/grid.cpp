#include "cinnabar/sample/grid.h"

#include <algorithm>
#include <string>

#include "cinnabar/base/error.h"

namespace cinnabar::sample {

namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;

// The square root, rounded up.
int64_t side_for(int64_t count) {
  int64_t side = 1;
  while (side * side < count) ++side;
  return side;
}

void place(const data::Picture& from, data::Offset corner, data::Picture& onto) {
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < from.width; ++x) {
      const auto source = static_cast<size_t>((y * from.width + x) * from.channels);
      const auto target = static_cast<size_t>(((corner.top + y) * onto.width + corner.left + x) * onto.channels);
      std::copy_n(from.pixels.begin() + static_cast<std::ptrdiff_t>(source), 3,
                  onto.pixels.begin() + static_cast<std::ptrdiff_t>(target));
    }
  }
}

}  // namespace

data::Picture join_grid(std::span<const data::Picture> pictures, const GridOptions& options) {
  if (pictures.empty()) throw base::Error(base::ErrorCode::Data, "a grid needs at least one picture");
  const auto count = static_cast<int64_t>(pictures.size());
  const int64_t columns = std::min(count, options.columns > 0 ? options.columns : side_for(count));
  const int64_t rows = (count + columns - 1) / columns;
  data::Size cell{};
  for (const data::Picture& picture : pictures) {
    cell.width = std::max(cell.width, picture.width);
    cell.height = std::max(cell.height, picture.height);
  }
  const data::Size whole{columns * cell.width + (columns - 1) * options.gap_px,
                         rows * cell.height + (rows - 1) * options.gap_px};
  if (whole.width > kMostPixels / whole.height) {
    throw base::Error(base::ErrorCode::Data, "a grid of " + std::to_string(count) + " pictures would be " +
                                                 std::to_string(whole.width) + "x" + std::to_string(whole.height) +
                                                 " pixels: make fewer or smaller pictures");
  }
  data::Picture grid = data::blank_picture(whole, 3);
  for (size_t i = 0; i < grid.pixels.size(); ++i) grid.pixels[i] = options.background[i % 3];
  for (int64_t i = 0; i < count; ++i) {
    const data::Picture& picture = pictures[static_cast<size_t>(i)];
    const data::Offset corner{i % columns * (cell.width + options.gap_px) + (cell.width - picture.width) / 2,
                              i / columns * (cell.height + options.gap_px) + (cell.height - picture.height) / 2};
    place(picture, corner, grid);
  }
  return grid;
}

}  // namespace cinnabar::sample
