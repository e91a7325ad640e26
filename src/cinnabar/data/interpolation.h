// The ways to resize a picture, by the names that options use.
#pragma once

#include <string_view>

namespace cinnabar::data {

enum class Interpolation {
  Area,      // OpenCV INTER_AREA: the mean of the covered pixels
  Lanczos,   // Pillow LANCZOS: three lobes, antialiased, alpha premultiplied
  Box,       // Pillow BOX
  Bilinear,  // OpenCV INTER_LINEAR, not antialiased
  Bicubic,   // OpenCV INTER_CUBIC, not antialiased
  Nearest,   // OpenCV INTER_NEAREST_EXACT
};

// From the value of resize_interpolation: lanczos, nearest, bilinear or linear, bicubic or cubic, area, box.
// Throws Error{Config} that names them.
Interpolation interpolation_from(std::string_view name);

}  // namespace cinnabar::data
