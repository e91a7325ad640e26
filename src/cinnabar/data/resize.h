// Resizing and cutting of pictures, with the numbers of the libraries that sd-scripts uses.
#pragma once

#include <optional>
#include <string_view>

#include "cinnabar/data/bucket.h"
#include "cinnabar/data/picture.h"

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

// What is used when the user set nothing: Area when neither side grows, else Lanczos.
Interpolation default_interpolation(Size from, Size to);

// Equal sizes return a copy. Sides of `target` must be above 0.
Picture resized(const Picture& picture, Size target, std::optional<Interpolation> interpolation = std::nullopt);
// The part of size `size` with its left upper corner at `offset`; it must lie inside.
Picture cropped(const Picture& picture, Offset offset, Size size);
// Resized and cut from the centre as the bucket asks.
Picture fitted(const Picture& picture, const BucketChoice& choice,
               std::optional<Interpolation> interpolation = std::nullopt);

}  // namespace cinnabar::data
