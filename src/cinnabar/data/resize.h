// Resizing and cutting of pictures, with the numbers of the libraries that sd-scripts uses.
#pragma once

#include <optional>

#include "cinnabar/data/bucket.h"
#include "cinnabar/data/interpolation.h"
#include "cinnabar/data/picture.h"

namespace cinnabar::data {

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
