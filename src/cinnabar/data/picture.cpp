#include "cinnabar/data/picture.h"

#include <algorithm>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/checked.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/bmp_reader.h"
#include "cinnabar/data/vips_decoder.h"

namespace cinnabar::data {

namespace {

bool has_transparency(const Picture& picture) {
  for (size_t i = 3; picture.channels == 4 && i < picture.pixels.size(); i += 4) {
    if (picture.pixels[i] != 255) return true;
  }
  return false;
}

Picture with_alpha(const Picture& rgb) {
  Picture result = blank_picture(rgb.size(), 4);
  result.notes = rgb.notes;
  for (size_t i = 0; i < rgb.pixels.size() / 3; ++i) {
    std::copy_n(rgb.pixels.begin() + static_cast<ptrdiff_t>(3 * i), 3,
                result.pixels.begin() + static_cast<ptrdiff_t>(4 * i));
    result.pixels[4 * i + 3] = 255;
  }
  return result;
}

}  // namespace

Picture without_alpha(const Picture& rgba, const std::optional<std::array<uint8_t, 3>>& background) {
  Picture result = blank_picture(rgba.size(), 3);
  result.notes = rgba.notes;
  if (has_transparency(rgba)) {
    result.notes.push_back(background ? "transparent parts are laid over the background colour"
                                      : "transparent parts are used with the colour stored beneath them");
  }
  for (size_t i = 0; i < rgba.pixels.size() / 4; ++i) {
    const int alpha = background ? rgba.pixels[4 * i + 3] : 255;
    for (size_t c = 0; c < 3; ++c) {
      const int under = background ? (*background)[c] : 0;
      result.pixels[3 * i + c] =
          static_cast<uint8_t>((rgba.pixels[4 * i + c] * alpha + under * (255 - alpha) + 127) / 255);
    }
  }
  return result;
}

Picture blank_picture(Size size, int64_t channels) {
  CINNABAR_ASSERT(size.width >= 0 && size.height >= 0 && channels > 0);
  const uint64_t samples =
      base::checked_mul(base::checked_mul(static_cast<uint64_t>(size.width), static_cast<uint64_t>(size.height)),
                        static_cast<uint64_t>(channels));
  return {.width = size.width, .height = size.height, .channels = channels, .pixels = std::vector<uint8_t>(samples)};
}

Picture load_picture(const std::filesystem::path& path, const LoadOptions& options) {
  const std::string file = base::read_file(path, options.limits.max_file_bytes);
  return decode_picture({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, path, options);
}

Picture decode_picture(std::span<const uint8_t> bytes, const std::filesystem::path& path, const LoadOptions& options) {
  const PictureInfo info = probe_picture(bytes, path, options.limits);
  base::Result<Picture> decoded = info.kind == PictureKind::Bmp
                                      ? read_bmp(bytes)
                                      : decode_with_vips(bytes, info, options.sixteen_bit, options.is_strict);
  if (!decoded) throw base::Error(decoded.error().code(), path.string() + ": " + decoded.error().message());
  Picture picture = std::move(decoded).value();
  picture.notes.insert(picture.notes.begin(), info.notes.begin(), info.notes.end());
  if (options.with_alpha && picture.channels == 3) picture = with_alpha(picture);
  if (!options.with_alpha && picture.channels == 4) picture = without_alpha(picture, options.background);
  return options.apply_orientation ? oriented(std::move(picture), info.orientation) : picture;
}

Picture oriented(Picture picture, int orientation) {
  if (orientation <= 1 || orientation > 8) return picture;
  // Orientations 5 to 8 exchange the axes; the pixel that lands at (x, y) comes from (sx, sy) of the stored picture.
  const bool exchanges = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture result = blank_picture(exchanges ? Size{picture.height, picture.width} : picture.size(), picture.channels);
  result.notes = std::move(picture.notes);
  uint8_t* out = result.pixels.data();
  for (int64_t y = 0; y < result.height; ++y) {
    for (int64_t x = 0; x < result.width; ++x, out += picture.channels) {
      const int64_t along = exchanges ? y : x;
      const int64_t across = exchanges ? x : y;
      const int64_t sx = from_right ? picture.width - 1 - along : along;
      const int64_t sy = from_bottom ? picture.height - 1 - across : across;
      std::copy_n(picture.pixels.data() + (sy * picture.width + sx) * picture.channels, picture.channels, out);
    }
  }
  return result;
}

Picture flipped(const Picture& picture) { return oriented(picture, 2); }

void normalise_to(const Picture& picture, std::span<float> out) {
  const auto plane = static_cast<size_t>(picture.width * picture.height);
  const auto channels = static_cast<size_t>(picture.channels);
  CINNABAR_ASSERT(out.size() == 3 * plane && channels >= 3);
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < plane; ++i) {
      // In this order, as ToTensor and Normalize do, so that the results are equal bit by bit.
      out[c * plane + i] = (static_cast<float>(picture.pixels[i * channels + c]) / 255.0F - 0.5F) / 0.5F;
    }
  }
}

}  // namespace cinnabar::data
