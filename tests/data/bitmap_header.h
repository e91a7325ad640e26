// The header of a bitmap, which is all that a scan of a folder reads.
#pragma once

#include <string>

namespace cinnabar::data {

inline std::string bitmap_header(int width, int height) {
  std::string bytes(54, '\0');
  bytes.replace(0, 2, "BM");
  bytes[14] = 40;
  for (int i = 0; i < 4; ++i) {
    bytes[static_cast<size_t>(18 + i)] = static_cast<char>(width >> 8 * i & 0xFF);
    bytes[static_cast<size_t>(22 + i)] = static_cast<char>(height >> 8 * i & 0xFF);
  }
  return bytes;
}

}  // namespace cinnabar::data
