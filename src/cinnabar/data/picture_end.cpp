#include "cinnabar/data/picture_end.h"

#include <algorithm>

#include "cinnabar/data/byte_source.h"
#include "cinnabar/data/picture_header.h"

namespace cinnabar::data {

namespace {

constexpr uint64_t kTailBytes = 65536;

bool is_chunk_name(const std::string& name) {
  return name.size() == 4 &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

std::string missing_png_end(ByteSource& source) {
  uint64_t offset = 8;
  bool has_data = false;
  for (int part = 0; part < kMaxParts; ++part) {
    const auto length = source.big(offset, 4);
    const std::string name = source.text(offset + 4, 4);
    const std::string place = "byte " + std::to_string(offset);
    if (!length || name.empty()) return "the file ends before the last chunk (IEND)";
    if (!is_chunk_name(name) || *length > 0x7FFFFFFFU) {
      return "at " + place + " there is no chunk where one must begin: the length of the one before is wrong";
    }
    has_data = has_data || name == "IDAT";
    const uint64_t end = offset + uint64_t{12} + *length;  // length, name, data, checksum
    if (end > source.size()) return "the file ends inside the chunk " + name + " at " + place;
    if (name == "IEND") return has_data ? "" : "no chunk holds pixels (IDAT)";
    offset = end;
  }
  return "";
}

// Where the compressed data of the first scan begins, or 0.
uint64_t start_of_scan(ByteSource& source) {
  uint64_t offset = 2;
  for (int part = 0; part < kMaxParts; ++part) {
    const auto prefix = source.big(offset, 1);
    const auto marker = source.big(offset + 1, 1);
    if (!prefix || !marker || *prefix != 0xFF) return 0;
    if (*marker == 0xFF) {  // fill byte
      ++offset;
      continue;
    }
    if (*marker == 0x01 || (*marker >= 0xD0 && *marker <= 0xD8)) {  // without a length
      offset += 2;
      continue;
    }
    const auto length = source.big(offset + 2, 2);
    if (!length || *length < 2 || *marker == 0xD9) return 0;
    offset += uint64_t{2} + *length;
    if (*marker == 0xDA) return offset;
  }
  return 0;
}

// A thumbnail in the header has an end of its own, so only what follows the first scan's header counts. Cameras and
// editors may append data after the end.
std::string missing_jpeg_end(ByteSource& source) {
  const uint64_t start = start_of_scan(source);
  if (start == 0 || start >= source.size()) return "the file ends before its pixels";
  const uint64_t from = std::max(start, source.size() > kTailBytes ? source.size() - kTailBytes : 0);
  const std::string tail = source.text(from, static_cast<size_t>(source.size() - from));
  return tail.find("\xFF\xD9") == std::string::npos ? "the mark of the end (FF D9) is missing" : "";
}

}  // namespace

std::string missing_end(const std::filesystem::path& path, PictureKind kind) {
  ByteSource source(path);
  return missing_end(source, kind);
}

std::string missing_end(ByteSource& source, PictureKind kind) {
  switch (kind) {
    case PictureKind::Png:
      return missing_png_end(source);
    case PictureKind::Jpeg:
      return missing_jpeg_end(source);
    case PictureKind::Gif: {
      const uint64_t from = source.size() > 64 ? source.size() - 64 : 0;
      const std::string tail = source.text(from, static_cast<size_t>(source.size() - from));
      return tail.find(';') == std::string::npos ? "the mark of the end (3B) is missing" : "";
    }
    case PictureKind::WebP: {
      const uint64_t length = uint64_t{source.little(4, 4).value_or(0)} + 8;
      if (length <= source.size()) return "";
      return "the file has " + std::to_string(source.size()) + " of " + std::to_string(length) + " bytes";
    }
    case PictureKind::Bmp:
    case PictureKind::Tiff:
    case PictureKind::Avif:
      break;
  }
  return "";
}

}  // namespace cinnabar::data
