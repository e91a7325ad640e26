// Pictures as 8-bit pixels: reading every format a data set may hold, and handing them to the model.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cinnabar/data/picture_probe.h"

namespace cinnabar::data {

// Interleaved rows from the top, no padding; channels are R G B or R G B A (not premultiplied).
struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 3;
  std::vector<uint8_t> pixels;     // height * width * channels
  std::vector<std::string> notes;  // what a report should say, for example "animated: the first frame is used"

  Size size() const { return {width, height}; }
};

// All zero, of the given shape.
Picture blank_picture(Size size, int64_t channels);

enum class SixteenBit {
  Scale,     // the high byte, for all channels
  ClipGrey,  // as Pillow and with it sd-scripts: grey values above 255 become 255, colour is scaled
};

struct LoadOptions {
  bool with_alpha = false;        // 4 channels; alpha 255 where the file has none
  bool apply_orientation = true;  // EXIF; sd-scripts ignores it
  SixteenBit sixteen_bit = SixteenBit::Scale;
  // Without alpha, transparent parts keep their colour as in sd-scripts, or are laid over this one.
  std::optional<std::array<uint8_t, 3>> background{};
  PictureLimits limits{};
  bool is_strict = false;  // what decoders only warn of counts as broken, too
};

// PNG, JPEG, WebP, BMP, first frame of GIF, TIFF and AVIF (where the installed libraries decode it). CMYK becomes RGB
// by the embedded profile, or by (1 - ink)(1 - black) without one. Throws Error{Io}, or Error{Data} that names the file
// and the reason: broken, cut off, over a limit, not a picture. Safe to call from several threads.
Picture load_picture(const std::filesystem::path& path, const LoadOptions& options = {});
// The same for a file in memory; `path` serves messages and the check of the extension alone.
Picture decode_picture(std::span<const uint8_t> bytes, const std::filesystem::path& path,
                       const LoadOptions& options = {});

// The picture turned and mirrored as an EXIF orientation (1 to 8) asks.
Picture oriented(Picture picture, int orientation);
// Mirrored left to right.
Picture flipped(const Picture& picture);

// Three channels: laid over `background`, or with the colour stored beneath transparent parts.
Picture without_alpha(const Picture& rgba, const std::optional<std::array<uint8_t, 3>>& background);

// Colour as the model sees it: x / 127.5 - 1, channel by channel. `out` holds 3 * height * width numbers, [3, H, W].
void normalise_to(const Picture& picture, std::span<float> out);

}  // namespace cinnabar::data
