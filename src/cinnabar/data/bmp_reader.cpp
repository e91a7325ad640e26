#include "cinnabar/data/bmp_reader.h"

#include <bit>

#include "cinnabar/data/byte_source.h"

namespace cinnabar::data {

namespace {

constexpr uint32_t kUncompressed = 0;
constexpr uint32_t kBitFields = 3;
constexpr uint32_t kAlphaBitFields = 6;

struct Header {
  uint64_t pixel_start = 0;
  uint32_t size = 0;  // of the second header, which tells the version
  int64_t width = 0;
  int64_t height = 0;
  bool is_from_top = false;
  uint32_t bits = 0;
  uint32_t compression = 0;
  uint64_t palette_start = 0;
  uint64_t palette_count = 0;
  uint32_t masks[4] = {0, 0, 0, 0};  // red, green, blue, alpha
};

base::Error broken(const std::string& reason) { return {base::ErrorCode::Data, reason}; }

Header read_bitmap_header(ByteSource& source) {
  Header header;
  header.pixel_start = source.little(10, 4).value_or(0);
  header.size = source.little(14, 4).value_or(0);
  if (header.size == 12) {
    header.width = source.little(18, 2).value_or(0);
    header.height = source.little(20, 2).value_or(0);
    header.bits = source.little(24, 2).value_or(0);
  } else {
    header.width = static_cast<int32_t>(source.little(18, 4).value_or(0));
    header.height = static_cast<int32_t>(source.little(22, 4).value_or(0));
    header.bits = source.little(28, 2).value_or(0);
    header.compression = source.little(30, 4).value_or(0);
    header.palette_count = source.little(46, 4).value_or(0);
  }
  header.is_from_top = header.height < 0;
  if (header.is_from_top) header.height = -header.height;
  const uint32_t full_palette = header.bits <= 8 ? 1U << header.bits : 0;
  if (header.palette_count == 0 || header.palette_count > full_palette) header.palette_count = full_palette;
  header.palette_start = uint64_t{14} + header.size;
  const bool has_fields = header.compression == kBitFields || header.compression == kAlphaBitFields;
  // The masks follow a 40-byte header, or are the next fields of a longer one: the same place.
  for (uint64_t i = 0; has_fields && i < 4; ++i) {
    const bool is_stored = i < 3 || header.size >= 56 || header.compression == kAlphaBitFields;
    header.masks[i] = is_stored ? source.little(54 + 4 * i, 4).value_or(0) : 0;
  }
  if (!has_fields && header.bits == 16) {
    header.masks[0] = 0x7C00;
    header.masks[1] = 0x03E0;
    header.masks[2] = 0x001F;
  }
  if (!has_fields && header.bits == 32) {
    header.masks[0] = 0xFF0000;
    header.masks[1] = 0x00FF00;
    header.masks[2] = 0x0000FF;
  }
  return header;
}

// The masked bits, widened to 0..255 and rounded down as Pillow does.
uint8_t channel(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 255;
  const uint64_t value = (pixel & mask) >> std::countr_zero(mask);
  const uint64_t largest = mask >> std::countr_zero(mask);
  return static_cast<uint8_t>(value * 255 / largest);
}

class Rows {
 public:
  Rows(std::span<const uint8_t> bytes, ByteSource& source, const Header& header) : bytes_(bytes), header_(header) {
    const uint64_t entry_size = header.size == 12 ? 3 : 4;
    palette_.resize(256 * 3);  // indices past the end of the palette are black
    for (uint64_t i = 0; i < header.palette_count; ++i) {
      for (uint64_t c = 0; c < 3; ++c) {
        const auto value = source.big(header.palette_start + entry_size * i + 2 - c, 1);
        palette_[i * 3 + c] = static_cast<uint8_t>(value.value_or(0));
      }
    }
  }

  // One row of `width` pixels that starts at `offset`.
  void read(uint64_t offset, int64_t channels, std::span<uint8_t> out) const {
    const std::span<const uint8_t> row = bytes_.subspan(offset);
    for (size_t x = 0; x < static_cast<size_t>(header_.width); ++x) {
      uint8_t* pixel = out.data() + x * static_cast<size_t>(channels);
      if (header_.bits <= 8) {
        const size_t first_bit = x * header_.bits;
        const uint32_t index = row[first_bit / 8] >> (8 - header_.bits - first_bit % 8) & ((1U << header_.bits) - 1);
        for (size_t c = 0; c < 3; ++c) pixel[c] = palette_[index * 3 + c];
      } else if (header_.bits == 24) {
        for (size_t c = 0; c < 3; ++c) pixel[c] = row[x * 3 + 2 - c];
      } else {
        const size_t size = header_.bits / 8;
        uint32_t value = 0;
        for (size_t i = size; i > 0; --i) value = value << 8 | row[x * size + i - 1];
        for (size_t c = 0; c < static_cast<size_t>(channels); ++c) pixel[c] = channel(value, header_.masks[c]);
      }
    }
  }

 private:
  std::span<const uint8_t> bytes_;
  const Header& header_;
  std::vector<uint8_t> palette_;
};

}  // namespace

base::Result<Picture> read_bmp(std::span<const uint8_t> bytes) {
  ByteSource source(bytes);
  const Header header = read_bitmap_header(source);
  if (header.size != 12 && (header.size < 40 || header.size > 1024))
    return broken("its BMP header has an unknown version");
  const bool is_known_depth = header.bits == 1 || header.bits == 4 || header.bits == 8 || header.bits == 16 ||
                              header.bits == 24 || header.bits == 32;
  if (!is_known_depth)
    return broken("BMP with " + std::to_string(header.bits) + " bits a pixel is not supported; save it as PNG");
  const bool is_plain = header.compression == kUncompressed ||
                        ((header.bits == 16 || header.bits == 32) &&
                         (header.compression == kBitFields || header.compression == kAlphaBitFields));
  if (!is_plain) return broken("compressed BMP is not supported; save it as PNG");
  if (header.width <= 0 || header.height <= 0) return broken("its BMP header says no size");
  // 64-bit products of two 31-bit numbers and a small one do not overflow.
  const uint64_t row_size = (static_cast<uint64_t>(header.width) * header.bits + 31) / 32 * 4;
  const uint64_t needed = row_size * static_cast<uint64_t>(header.height);
  if (header.pixel_start > bytes.size() || needed > bytes.size() - header.pixel_start) {
    return broken("the BMP is cut off: its pixels need " + std::to_string(needed) + " bytes from byte " +
                  std::to_string(header.pixel_start) + ", the file has " + std::to_string(bytes.size()));
  }
  Picture picture = blank_picture({header.width, header.height}, header.masks[3] != 0 ? 4 : 3);
  const Rows rows(bytes, source, header);
  const auto out_size = static_cast<size_t>(header.width * picture.channels);
  for (int64_t y = 0; y < header.height; ++y) {
    const int64_t stored = header.is_from_top ? y : header.height - 1 - y;
    rows.read(header.pixel_start + row_size * static_cast<uint64_t>(stored), picture.channels,
              std::span(picture.pixels).subspan(static_cast<size_t>(y) * out_size, out_size));
  }
  return picture;
}

}  // namespace cinnabar::data
