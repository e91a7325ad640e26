// The one place that knows libvips: pixels of PNG, JPEG, WebP, GIF, TIFF and AVIF files.
#pragma once

#include <span>

#include "cinnabar/base/error.h"
#include "cinnabar/data/picture.h"

namespace cinnabar::data {

// `info` is the probe of the same bytes. The picture has 4 channels if the file has transparency, else 3, and is not
// turned by the EXIF orientation. The error says the reason without the file's name. Strict: warnings of the
// decoder are errors.
base::Result<Picture> decode_with_vips(std::span<const uint8_t> bytes, const PictureInfo& info, SixteenBit sixteen_bit,
                                       bool is_strict = false);

}  // namespace cinnabar::data
