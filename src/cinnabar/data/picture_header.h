// Readers of the header fields of each picture format, for picture_probe.cpp.
#pragma once

#include "cinnabar/data/byte_source.h"
#include "cinnabar/data/picture_probe.h"

namespace cinnabar::data {

// No picture of sense has more parts; a hostile one could keep a scan busy.
inline constexpr int kMaxParts = 1 << 17;

// Width and height stay 0 where the file does not say them.
struct HeaderFields {
  Size size;
  int orientation = 1;
  bool is_cut_off = false;
  bool is_animated = false;
};

HeaderFields read_png_header(ByteSource& source);
HeaderFields read_jpeg_header(ByteSource& source);
HeaderFields read_webp_header(ByteSource& source);
HeaderFields read_bmp_header(ByteSource& source);
HeaderFields read_gif_header(ByteSource& source);
// `start` is where the TIFF structure begins: 0 in a TIFF file, further on for an EXIF block.
HeaderFields read_tiff_header(ByteSource& source, uint64_t start);
HeaderFields read_avif_header(ByteSource& source);

}  // namespace cinnabar::data
