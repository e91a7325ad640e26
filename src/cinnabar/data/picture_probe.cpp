#include "cinnabar/data/picture_probe.h"

#include <algorithm>
#include <array>
#include <optional>

#include "cinnabar/base/error.h"
#include "cinnabar/data/byte_source.h"
#include "cinnabar/data/picture_header.h"

namespace cinnabar::data {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::array<std::pair<std::string_view, PictureKind>, 10> kExtensions = {{
    {".png", PictureKind::Png},
    {".jpg", PictureKind::Jpeg},
    {".jpeg", PictureKind::Jpeg},
    {".jfif", PictureKind::Jpeg},
    {".webp", PictureKind::WebP},
    {".bmp", PictureKind::Bmp},
    {".gif", PictureKind::Gif},
    {".tif", PictureKind::Tiff},
    {".tiff", PictureKind::Tiff},
    {".avif", PictureKind::Avif},
}};

std::optional<PictureKind> kind_of_extension(std::string_view extension) {
  std::string lower(extension);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const auto& [known, kind] : kExtensions) {
    if (lower == known) return kind;
  }
  return std::nullopt;
}

std::optional<PictureKind> kind_of_content(ByteSource& source) {
  const std::string start = source.text(0, 4);
  if (start == "\x89PNG") return PictureKind::Png;
  if (start.starts_with("\xFF\xD8\xFF")) return PictureKind::Jpeg;
  if (start == "RIFF" && source.text(8, 4) == "WEBP") return PictureKind::WebP;
  if (start.starts_with("BM")) return PictureKind::Bmp;
  if (start == "GIF8") return PictureKind::Gif;
  if (start == std::string("II*\0", 4) || start == std::string("MM\0*", 4)) return PictureKind::Tiff;
  if (source.text(4, 4) == "ftyp") {
    // The kind of an ISO base media file stands among its brands.
    const uint32_t length = std::min<uint32_t>(source.big(0, 4).value_or(0), 256);
    for (uint64_t offset = 8; offset + 4 <= length; offset += 4) {
      const std::string brand = source.text(offset, 4);
      if (brand == "avif" || brand == "avis") return PictureKind::Avif;
    }
  }
  return std::nullopt;
}

// What an unreadable file seems to be, for the message.
std::string guess(ByteSource& source) {
  const std::string start = source.text(0, static_cast<size_t>(std::min<uint64_t>(source.size(), 16)));
  if (start.find("ftyphei") == 4 || start.find("ftypmif1") == 4) return "a HEIC picture";
  if (start.starts_with("\xFF\x0A") || start.find("JXL ") == 4) return "a JPEG XL picture";
  if (start.starts_with("8BPS")) return "a Photoshop file";
  if (start.starts_with("%PDF")) return "a PDF file";
  if (start.starts_with("<!DOC") || start.starts_with("<!doc") || start.starts_with("<html")) return "a web page";
  if (start.starts_with("<svg") || start.starts_with("<?xml")) return "an SVG or XML file";
  return "something else";
}

HeaderFields read_header(ByteSource& source, PictureKind kind) {
  switch (kind) {
    case PictureKind::Png:
      return read_png_header(source);
    case PictureKind::Jpeg:
      return read_jpeg_header(source);
    case PictureKind::WebP:
      return read_webp_header(source);
    case PictureKind::Bmp:
      return read_bmp_header(source);
    case PictureKind::Gif:
      return read_gif_header(source);
    case PictureKind::Tiff:
      return read_tiff_header(source, 0);
    case PictureKind::Avif:
      return read_avif_header(source);
  }
  return {};
}

PictureInfo probe(ByteSource& source, const std::filesystem::path& path, const PictureLimits& limits) {
  const auto fail = [&](const std::string& reason) -> Error {
    return {ErrorCode::Data, path.string() + ": " + reason};
  };
  if (source.size() == 0) throw fail("the file is empty; expected a picture");
  if (source.size() > limits.max_file_bytes) {
    throw fail("the file has " + std::to_string(source.size()) + " bytes; at most " +
               std::to_string(limits.max_file_bytes) + " are read");
  }
  const std::optional<PictureKind> kind = kind_of_content(source);
  if (!kind) {
    throw fail("the content is " + guess(source) +
               "; expected a PNG, JPEG, WebP, BMP, GIF, TIFF or AVIF picture, so convert or remove the file");
  }
  const HeaderFields fields = read_header(source, *kind);
  const std::string name(to_string(*kind));
  if (fields.size.width <= 0 || fields.size.height <= 0) {
    throw fail("the " + name + " header is broken or cut off: it says no size; replace or remove the file");
  }
  if (std::max(fields.size.width, fields.size.height) > limits.max_side_px ||
      fields.size.width * fields.size.height > limits.max_pixels) {
    throw fail("the picture has " + to_string(fields.size) + " pixels; at most " + std::to_string(limits.max_side_px) +
               " a side and " + std::to_string(limits.max_pixels) + " in all are read, so make it smaller");
  }
  PictureInfo info{.kind = *kind,
                   .stored = fields.size,
                   .upright = fields.size,
                   .orientation = fields.orientation,
                   .is_cut_off = fields.is_cut_off};
  if (info.orientation >= 5) std::swap(info.upright.width, info.upright.height);
  if (fields.is_animated) info.notes.push_back("animated: the first frame is used");
  const std::string extension = path.extension().string();
  if (kind_of_extension(extension) != kind) {
    info.notes.push_back("the content is " + name + ", the extension \"" + extension + "\" says otherwise");
  }
  return info;
}

}  // namespace

std::string_view to_string(PictureKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"PNG", "JPEG", "WebP", "BMP", "GIF", "TIFF", "AVIF"};
  return kNames[static_cast<size_t>(kind)];
}

PictureInfo probe_picture(const std::filesystem::path& path, const PictureLimits& limits) {
  ByteSource source(path);
  return probe(source, path, limits);
}

PictureInfo probe_picture(ByteSource& source, const std::filesystem::path& path, const PictureLimits& limits) {
  return probe(source, path, limits);
}

PictureInfo probe_picture(std::span<const uint8_t> bytes, const std::filesystem::path& path,
                          const PictureLimits& limits) {
  ByteSource source(bytes);
  return probe(source, path, limits);
}

bool is_picture_extension(std::string_view extension) { return kind_of_extension(extension).has_value(); }

}  // namespace cinnabar::data
