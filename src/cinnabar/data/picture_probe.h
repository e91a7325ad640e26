// What a picture file is and how large, from its header alone (no pixel is decoded, no picture library is needed).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/data/bucket.h"

namespace cinnabar::data {

class ByteSource;

enum class PictureKind { Png, Jpeg, WebP, Bmp, Gif, Tiff, Avif };

// "PNG", "JPEG", ...
std::string_view to_string(PictureKind kind);

// Checked from the header before anything is allocated.
struct PictureLimits {
  int64_t max_side_px = 16384;
  int64_t max_pixels = 268'435'456;
  uint64_t max_file_bytes = uint64_t{256} << 20;
};

struct PictureInfo {
  PictureKind kind = PictureKind::Png;
  Size stored;                     // as the pixels lie in the file
  Size upright;                    // after the EXIF orientation
  int orientation = 1;             // EXIF, 1 to 8; 1 is upright
  bool is_cut_off = false;         // the end of the file is missing, as far as the header tells
  std::vector<std::string> notes;  // harmless oddities, for example an extension that does not fit
};

// Throws Error{Io} when the file cannot be read; Error{Data} with file and reason when it is empty, of no known kind,
// broken in its header, or over the limits.
PictureInfo probe_picture(const std::filesystem::path& path, const PictureLimits& limits = {});
// The same for a file that is open already; `path` names it.
PictureInfo probe_picture(ByteSource& source, const std::filesystem::path& path, const PictureLimits& limits = {});
// The same for a file in memory. `path` serves messages and the check of the extension alone.
PictureInfo probe_picture(std::span<const uint8_t> bytes, const std::filesystem::path& path,
                          const PictureLimits& limits = {});

// Whether files of this extension (with the dot, any case) are taken as pictures: png jpg jpeg jfif webp bmp gif tif
// tiff avif.
bool is_picture_extension(std::string_view extension);

}  // namespace cinnabar::data
