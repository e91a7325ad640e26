#include "cinnabar/data/vips_decoder.h"

#include <vips/vips.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>

#include "cinnabar/base/log.h"
#include "cinnabar/data/picture_notes.h"

namespace cinnabar::data {

namespace {

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};
using Image = std::unique_ptr<VipsImage, Unref>;
using Region = std::unique_ptr<VipsRegion, Unref>;

// Whether a decoder has warned since this thread began with its picture.
thread_local bool t_has_warned = false;

// Called in the thread that decodes. The words must not reach the progress line.
void log_glib(const gchar*, GLogLevelFlags level, const gchar* message, gpointer) {
  base::log_debug(message);
  if ((level & G_LOG_LEVEL_WARNING) != 0) t_has_warned = true;
}

void start_vips() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (VIPS_INIT("cinnabar") != 0) throw base::Error(base::ErrorCode::Internal, "libvips does not start");
#if VIPS_MAJOR_VERSION > 8 || VIPS_MINOR_VERSION >= 13
    vips_block_untrusted_set(TRUE);
#endif
    // The callers bring their own threads, and no picture is read twice in a row.
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    g_log_set_handler("VIPS", static_cast<GLogLevelFlags>(G_LOG_LEVEL_WARNING | G_LOG_LEVEL_INFO), log_glib, nullptr);
  });
}

// Its first line is the reason.
base::Error vips_failure() {
  std::unique_ptr<gchar, decltype(&g_free)> text(vips_error_buffer_copy(), g_free);
  std::string reason = text ? text.get() : "";
  reason = reason.substr(0, reason.find('\n'));
  return {base::ErrorCode::Data, "it cannot be decoded" + (reason.empty() ? "" : " (" + reason + ")") +
                                     ": the file is broken or cut off; replace or remove it"};
}

Image open_image(std::span<const uint8_t> bytes, PictureKind kind, bool is_strict) {
  // libvips takes the buffer as non-const and does not write to it.
  void* data = const_cast<uint8_t*>(bytes.data());
  const auto load = [&](auto loader) {
    VipsImage* image = nullptr;
    loader(data, bytes.size(), &image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
           is_strict ? VIPS_FAIL_ON_WARNING : VIPS_FAIL_ON_ERROR, nullptr);
    return Image(image);
  };
  switch (kind) {
    case PictureKind::Png:
      return load(vips_pngload_buffer);
    case PictureKind::Jpeg:
      return load(vips_jpegload_buffer);
    case PictureKind::WebP:
      return load(vips_webpload_buffer);
    case PictureKind::Gif:
      return load(vips_gifload_buffer);
    case PictureKind::Tiff:
      return load(vips_tiffload_buffer);
    case PictureKind::Avif:
      return load(vips_heifload_buffer);
    case PictureKind::Bmp:
      break;
  }
  return nullptr;
}

bool is_plain(VipsInterpretation interpretation) {
  return interpretation == VIPS_INTERPRETATION_B_W || interpretation == VIPS_INTERPRETATION_GREY16 ||
         interpretation == VIPS_INTERPRETATION_sRGB || interpretation == VIPS_INTERPRETATION_RGB ||
         interpretation == VIPS_INTERPRETATION_RGB16 || interpretation == VIPS_INTERPRETATION_MULTIBAND ||
         interpretation == VIPS_INTERPRETATION_CMYK;
}

// Whether a JPEG says by an APP14 segment that an Adobe program wrote it.
bool has_adobe_marker(std::span<const uint8_t> bytes) {
  constexpr uint8_t kScan = 0xDA;
  constexpr uint8_t kApp14 = 0xEE;
  constexpr std::string_view kName = "Adobe";
  for (size_t at = 2; at + 4 <= bytes.size() && bytes[at] == 0xFF && bytes[at + 1] != kScan;) {
    const std::span<const uint8_t> content = bytes.subspan(at + 4);
    if (bytes[at + 1] == kApp14 && content.size() >= kName.size() &&
        std::ranges::equal(content.first(kName.size()), kName))
      return true;
    at += 2 + static_cast<size_t>(bytes[at + 2] << 8 | bytes[at + 3]);
  }
  return false;
}

// Adobe's programs store inks inverted. libvips takes every JPEG for one of theirs. False: libvips failed.
bool turn_inks(Image& image, std::span<const uint8_t> bytes, PictureKind kind) {
  const bool is_cmyk = vips_image_get_interpretation(image.get()) == VIPS_INTERPRETATION_CMYK;
  if (!is_cmyk || kind != PictureKind::Jpeg || has_adobe_marker(bytes)) return true;
  VipsImage* out = nullptr;
  if (vips_invert(image.get(), &out, nullptr) != 0) return false;
  image.reset(out);
  return true;
}

// CMYK by its profile where it has one; Lab and other spaces to sRGB. False: libvips failed.
bool bring_to_known_space(Image& image, std::vector<std::string>& notes) {
  const VipsInterpretation interpretation = vips_image_get_interpretation(image.get());
  VipsImage* out = nullptr;
  if (interpretation == VIPS_INTERPRETATION_CMYK) {
    if (vips_image_get_typeof(image.get(), VIPS_META_ICC_NAME) == 0) {
      notes.push_back("CMYK without a colour profile: converted by the simple rule");
      return true;
    }
    if (vips_icc_transform(image.get(), &out, "srgb", "embedded", TRUE, nullptr) != 0) {
      vips_error_clear();
      notes.push_back("CMYK with an unusable colour profile: converted by the simple rule");
      return true;
    }
    notes.push_back("CMYK: converted by its colour profile");
  } else if (!is_plain(interpretation)) {
    if (vips_colourspace(image.get(), &out, VIPS_INTERPRETATION_sRGB, nullptr) != 0) return false;
  }
  if (out != nullptr) image.reset(out);
  return true;
}

// How the samples of a decoded row become 8-bit colour.
struct Layout {
  size_t bands = 0;
  bool is_sixteen_bit = false;
  bool is_cmyk = false;
  bool clips = false;  // 16-bit grey is cut off at 255

  bool has_alpha() const { return is_cmyk ? bands > 4 : bands == 2 || bands >= 4; }
  size_t channels() const { return has_alpha() ? 4 : 3; }
};

uint8_t narrow(uint16_t value, bool clips) {
  return static_cast<uint8_t>(clips ? std::min<uint16_t>(value, 255) : value >> 8);
}

// a * b / 255, rounded.
uint8_t scaled(int a, int b) {
  const int t = a * b + 128;
  return static_cast<uint8_t>((t + (t >> 8)) >> 8);
}

// `row` has `width` pixels of layout.bands 8-bit samples.
void convert_row(const uint8_t* row, size_t width, const Layout& layout, uint8_t* out) {
  const size_t channels = layout.channels();
  if (!layout.is_cmyk && layout.bands == channels) {
    std::copy_n(row, width * channels, out);
    return;
  }
  for (size_t x = 0; x < width; ++x) {
    const uint8_t* in = row + x * layout.bands;
    uint8_t* pixel = out + x * channels;
    if (layout.is_cmyk) {
      for (size_t c = 0; c < 3; ++c) pixel[c] = scaled(255 - in[c], 255 - in[3]);
    } else {
      const size_t step = layout.bands < 3 ? 0 : 1;
      for (size_t c = 0; c < 3; ++c) pixel[c] = in[c * step];
    }
    if (layout.has_alpha()) pixel[3] = in[layout.is_cmyk ? 4 : (layout.bands == 2 ? 1 : 3)];
  }
}

// Decodes in strips, so that only the finished picture is held as a whole.
bool read_pixels(VipsImage* image, const Layout& layout, Picture& picture) {
  constexpr int kStripRows = 64;
  const auto width = static_cast<size_t>(picture.width);
  const size_t samples = width * layout.bands;
  std::vector<uint8_t> narrowed(layout.is_sixteen_bit ? samples : 0);
  const Region region(vips_region_new(image));
  for (int top = 0; top < picture.height; top += kStripRows) {
    const int rows = std::min(kStripRows, static_cast<int>(picture.height) - top);
    const VipsRect area = {0, top, static_cast<int>(picture.width), rows};
    if (vips_region_prepare(region.get(), &area) != 0) return false;
    for (int y = top; y < top + rows; ++y) {
      const uint8_t* row = VIPS_REGION_ADDR(region.get(), 0, y);
      if (layout.is_sixteen_bit) {
        const auto* wide = reinterpret_cast<const uint16_t*>(row);
        for (size_t i = 0; i < samples; ++i) narrowed[i] = narrow(wide[i], layout.clips);
        row = narrowed.data();
      }
      convert_row(row, width, layout, picture.pixels.data() + static_cast<size_t>(y) * width * layout.channels());
    }
  }
  return true;
}

base::Result<Picture> decode_once(std::span<const uint8_t> bytes, const PictureInfo& info, SixteenBit sixteen_bit,
                                  bool is_strict) {
  Image image = open_image(bytes, info.kind, is_strict);
  if (!image) return vips_failure();
  const Size size = {vips_image_get_width(image.get()), vips_image_get_height(image.get())};
  if (size != info.stored) {
    return base::Error(base::ErrorCode::Data, "its header says " + to_string(info.stored) +
                                                  " pixels, the decoder finds " + to_string(size) +
                                                  "; replace or remove the file");
  }
  std::vector<std::string> notes;
  if (vips_image_get_n_pages(image.get()) > 1) notes.push_back("several frames or pages: the first one is used");
  if (!turn_inks(image, bytes, info.kind) || !bring_to_known_space(image, notes)) return vips_failure();
  const VipsBandFormat format = vips_image_get_format(image.get());
  if (format != VIPS_FORMAT_UCHAR && format != VIPS_FORMAT_USHORT) {
    return base::Error(base::ErrorCode::Data, "its samples are neither 8 nor 16 bits wide; save it as PNG");
  }
  const auto bands = static_cast<size_t>(vips_image_get_bands(image.get()));
  const bool is_cmyk = vips_image_get_interpretation(image.get()) == VIPS_INTERPRETATION_CMYK;
  if (bands == 0 || (is_cmyk && bands < 4)) return base::Error(base::ErrorCode::Data, "it has too few colour channels");
  const Layout layout = {.bands = bands,
                         .is_sixteen_bit = format == VIPS_FORMAT_USHORT,
                         .is_cmyk = is_cmyk,
                         .clips = bands == 1 && sixteen_bit == SixteenBit::ClipGrey};
  if (layout.is_sixteen_bit) notes.push_back("16 bits a sample: the upper 8 are used");
  Picture picture = blank_picture(size, static_cast<int64_t>(layout.channels()));
  picture.notes = std::move(notes);
  t_has_warned = false;  // profiles may have been warned of
  if (!read_pixels(image.get(), layout, picture)) return vips_failure();
  image.reset();  // the JPEG reader speaks when it is done
  // Other formats' warnings are about profiles and comments.
  if (t_has_warned && info.kind == PictureKind::Jpeg) picture.notes.emplace_back(kDamagedJpeg);
  return picture;
}

}  // namespace

base::Result<Picture> decode_with_vips(std::span<const uint8_t> bytes, const PictureInfo& info, SixteenBit sixteen_bit,
                                       bool is_strict) {
  start_vips();
  // All threads write their reasons into one buffer of libvips. Failures are rare: the picture is then decoded once
  // more with nobody else at work, so that the buffer holds its own reason alone.
  static std::shared_mutex buffer;
  {
    const std::shared_lock together(buffer);
    if (base::Result<Picture> picture = decode_once(bytes, info, sixteen_bit, is_strict)) return picture;
  }
  const std::unique_lock alone(buffer);
  vips_error_clear();
  return decode_once(bytes, info, sixteen_bit, is_strict);
}

}  // namespace cinnabar::data
