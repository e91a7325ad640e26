// Windows bitmaps (libvips reads them only through ImageMagick, which we do not let near untrusted files).
#pragma once

#include <cstdint>
#include <span>

#include "cinnabar/base/error.h"
#include "cinnabar/data/picture.h"

namespace cinnabar::data {

// 1, 4, 8, 16, 24 and 32 bits a pixel without compression; 3 channels, or 4 when the file has an alpha mask. The caller
// has checked the size against its limits. The error says the reason without the file's name.
base::Result<Picture> read_bmp(std::span<const uint8_t> bytes);

}  // namespace cinnabar::data
