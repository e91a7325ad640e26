#include "cinnabar/data/bmp_reader.h"
#include "cinnabar/data/picture_end.h"
#include "cinnabar/data/picture_probe.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/memory_file.h"

using namespace cinnabar;

CINNABAR_FUZZ_TARGET(picture, 4096) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  const data::PictureInfo info = data::probe_picture(bytes, "picture.png");
  fuzz::require(info.stored.width > 0 && info.stored.height > 0, "a picture has a size");
  fuzz::require(info.stored.width <= 16384 && info.stored.height <= 16384, "no side is over the limit");
  fuzz::require(info.orientation >= 1 && info.orientation <= 8, "an orientation is one of eight");
  (void)data::missing_end(fuzz::memory_file(input), info.kind);
  if (info.kind != data::PictureKind::Bmp) return;
  const base::Result<data::Picture> picture = data::read_bmp(bytes);
  if (!picture) return;
  const data::Picture upright = data::oriented(picture.value(), 6);
  fuzz::require(upright.size() == data::Size{info.stored.height, info.stored.width}, "the reader finds the same size");
  fuzz::require(upright.pixels.size() == static_cast<size_t>(upright.width * upright.height * upright.channels),
                "every pixel is there");
}
