#include "cinnabar/data/picture_header.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cinnabar::data {

namespace {

// An EXIF block may carry its name in front of the TIFF structure.
int exif_orientation(ByteSource& source, uint64_t start) {
  const bool has_name = source.text(start, 6) == std::string("Exif\0\0", 6);
  return read_tiff_header(source, has_name ? start + 6 : start).orientation;
}

bool is_start_of_frame(uint32_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// Cameras and editors may append data after the end marker, so the last part of the file is searched for it.
bool has_jpeg_end(ByteSource& source) {
  const size_t length = static_cast<size_t>(std::min<uint64_t>(source.size(), 65536));
  return source.text(source.size() - length, length).find("\xFF\xD9") != std::string::npos;
}

// Behind the sub-blocks that begin at `at`: a length and so many bytes each, the last of length 0. Nothing when the
// file ends before, or `parts` are used up.
std::optional<uint64_t> after_gif_blocks(ByteSource& source, uint64_t at, int& parts) {
  while (parts-- > 0) {
    const auto length = source.big(at, 1);
    if (!length) return std::nullopt;
    at += 1 + *length;
    if (*length == 0) return at;
  }
  return std::nullopt;
}

// Whether a second picture follows the first.
bool is_animated_gif(ByteSource& source) {
  const auto table_bytes = [&](uint64_t flags_at) {
    const uint32_t flags = source.big(flags_at, 1).value_or(0);
    return (flags & 0x80) != 0 ? uint64_t{3} << ((flags & 7) + 1) : uint64_t{0};
  };
  int parts = kMaxParts;
  int pictures = 0;
  for (uint64_t at = 13 + table_bytes(10);;) {
    const uint32_t kind = source.big(at, 1).value_or(0);
    const bool is_picture = kind == 0x2C;
    if (is_picture && ++pictures == 2) return true;
    if (!is_picture && kind != 0x21) return false;  // the end, or damage
    // A picture: its place, its colours, a byte; an extension: two bytes.
    const auto next = after_gif_blocks(source, is_picture ? at + 11 + table_bytes(at + 9) : at + 2, parts);
    if (!next) return false;
    at = *next;
  }
}

}  // namespace

HeaderFields read_png_header(ByteSource& source) {
  HeaderFields fields;
  if (source.text(12, 4) != "IHDR") return fields;
  fields.size = {source.big(16, 4).value_or(0), source.big(20, 4).value_or(0)};
  uint64_t offset = 8;
  bool has_exif = false;
  for (int part = 0; part < kMaxParts; ++part) {
    const auto length = source.big(offset, 4);
    const std::string type = source.text(offset + 4, 4);
    if (!length || type.empty()) break;
    // Only one is allowed; each further one would cost a walk through as many fields as it likes.
    if (type == "eXIf" && !std::exchange(has_exif, true)) fields.orientation = exif_orientation(source, offset + 8);
    if (type == "acTL") fields.is_animated = true;
    offset += uint64_t{12} + *length;  // length, type, data, checksum
    if (type == "IEND") {
      fields.is_cut_off = offset > source.size();
      return fields;
    }
  }
  fields.is_cut_off = true;
  return fields;
}

HeaderFields read_jpeg_header(ByteSource& source) {
  HeaderFields fields;
  uint64_t offset = 2;
  bool has_exif = false;
  for (int part = 0; part < kMaxParts; ++part) {
    const auto prefix = source.big(offset, 1);
    const auto marker = source.big(offset + 1, 1);
    if (!prefix || !marker || *prefix != 0xFF) break;
    if (*marker == 0xFF) {  // fill byte
      ++offset;
      continue;
    }
    if (*marker == 0x01 || (*marker >= 0xD0 && *marker <= 0xD8)) {  // without a length
      offset += 2;
      continue;
    }
    const auto length = source.big(offset + 2, 2);
    if (!length || *length < 2 || *marker == 0xD9 || *marker == 0xDA) break;
    if (*marker == 0xE1 && source.text(offset + 4, 4) == "Exif" && !std::exchange(has_exif, true))
      fields.orientation = exif_orientation(source, offset + 4);
    if (is_start_of_frame(*marker)) {
      fields.size = {source.big(offset + 7, 2).value_or(0), source.big(offset + 5, 2).value_or(0)};
    }
    offset += uint64_t{2} + *length;
  }
  fields.is_cut_off = !has_jpeg_end(source);
  return fields;
}

HeaderFields read_webp_header(ByteSource& source) {
  HeaderFields fields;
  fields.is_cut_off = uint64_t{source.little(4, 4).value_or(0)} + 8 > source.size();
  const std::string first = source.text(12, 4);
  if (first == "VP8 " && source.text(23, 3) == "\x9D\x01\x2A") {
    fields.size = {source.little(26, 2).value_or(0) & 0x3FFF, source.little(28, 2).value_or(0) & 0x3FFF};
  } else if (first == "VP8L" && source.big(20, 1) == 0x2F) {
    const uint32_t bits = source.little(21, 4).value_or(0);
    fields.size = {(bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1};
  } else if (first == "VP8X") {
    const uint32_t flags = source.big(20, 1).value_or(0);
    fields.is_animated = (flags & 0x02) != 0;
    fields.size = {int64_t{source.little(24, 3).value_or(0)} + 1, int64_t{source.little(27, 3).value_or(0)} + 1};
    uint64_t offset = 12;
    bool has_exif = false;
    for (int part = 0; (flags & 0x08) != 0 && part < kMaxParts; ++part) {
      const auto length = source.little(offset + 4, 4);
      if (!length) break;
      if (source.text(offset, 4) == "EXIF" && !std::exchange(has_exif, true))
        fields.orientation = exif_orientation(source, offset + 8);
      offset += uint64_t{8} + *length + (*length & 1);  // padded to even
    }
  }
  return fields;
}

HeaderFields read_bmp_header(ByteSource& source) {
  HeaderFields fields;
  if (source.little(14, 4) == 12) {
    fields.size = {source.little(18, 2).value_or(0), source.little(20, 2).value_or(0)};
    return fields;
  }
  // A negative height says that the rows run from the top.
  const int64_t height = static_cast<int32_t>(source.little(22, 4).value_or(0));
  fields.size = {static_cast<int32_t>(source.little(18, 4).value_or(0)), height < 0 ? -height : height};
  return fields;
}

HeaderFields read_gif_header(ByteSource& source) {
  HeaderFields fields;
  fields.size = {source.little(6, 2).value_or(0), source.little(8, 2).value_or(0)};
  fields.is_animated = is_animated_gif(source);
  return fields;
}

HeaderFields read_tiff_header(ByteSource& source, uint64_t start) {
  HeaderFields fields;
  const std::string order = source.text(start, 2);
  if (order != "II" && order != "MM") return fields;
  const auto number = [&](uint64_t offset, size_t bytes) {
    return (order == "II" ? source.little(offset, bytes) : source.big(offset, bytes)).value_or(0);
  };
  if (number(start + 2, 2) != 42) return fields;
  const uint64_t directory = start + number(start + 4, 4);
  const uint32_t count = number(directory, 2);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t entry = directory + 2 + uint64_t{12} * i;
    const uint32_t type = number(entry + 2, 2);
    if (type != 3 && type != 4) continue;  // 16 or 32 bits, stored in the entry itself
    const uint32_t value = number(entry + 8, type == 3 ? 2 : 4);
    const uint32_t tag = number(entry, 2);
    if (tag == 256) fields.size.width = value;
    if (tag == 257) fields.size.height = value;
    if (tag == 274 && value >= 1 && value <= 8) fields.orientation = static_cast<int>(value);
  }
  return fields;
}

HeaderFields read_avif_header(ByteSource& source) {
  HeaderFields fields;
  bool is_turned = false;
  uint64_t largest = 0;
  uint64_t offset = 0;
  uint64_t end = source.size();
  // Boxes nest; the three on the way to the image properties are entered, all others stepped over.
  for (int part = 0; part < kMaxParts && offset < end; ++part) {
    const auto length = source.big(offset, 4);
    const std::string type = source.text(offset + 4, 4);
    if (!length || type.empty()) break;
    if (type == "meta" || type == "iprp" || type == "ipco") {
      end = std::min<uint64_t>(end, offset + *length);
      offset += type == "meta" ? 12 : 8;
      continue;
    }
    if (type == "ispe") {
      // A grid has one for its tiles and one for the whole; the whole is the largest.
      const uint64_t width = source.big(offset + 12, 4).value_or(0);
      const uint64_t height = source.big(offset + 16, 4).value_or(0);
      if (width * height > largest) fields.size = {static_cast<int64_t>(width), static_cast<int64_t>(height)};
      largest = std::max(largest, width * height);
    }
    if (type == "irot") is_turned = (source.big(offset + 8, 1).value_or(0) & 1) != 0;
    if (*length < 8) break;  // runs to the end of the file, or is longer than 4 GiB
    offset += *length;
  }
  // The decoder turns the picture itself, so its pixels arrive upright.
  if (is_turned) std::swap(fields.size.width, fields.size.height);
  return fields;
}

}  // namespace cinnabar::data
