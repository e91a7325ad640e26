// Cuts around a face whose place stands in the file's name. Numbers as in sd-scripts (library/train_util.py,
// crop_target); the draws come from our own streams.
#pragma once

#include <array>
#include <filesystem>
#include <optional>

#include "cinnabar/base/random_stream.h"
#include "cinnabar/data/bucket.h"

namespace cinnabar::data {

// In pixels of the upright picture.
struct Face {
  int64_t centre_x = 0;
  int64_t centre_y = 0;
  int64_t width = 0;
  int64_t height = 0;
  friend bool operator==(const Face&, const Face&) = default;
};

// "photo_120_80_60_72.png": centre x, centre y, width and height as the last four of at least five parts. Nothing when
// they are no whole numbers, the centre is not right of 0 or the face has no size.
std::optional<Face> face_from_name(const std::filesystem::path& path);

struct FaceCutRule {
  Size picture;  // not smaller than `target` on any side
  Size target;
  std::array<double, 2> range;  // face_crop_aug_range: the shorter side of the target is this many faces long
  bool roams = false;           // random_crop: the face may lie anywhere, most often in the middle
};

struct FaceCut {
  Size resized;   // covers the target, never larger than the picture
  Offset offset;  // of the target in it
};

FaceCut face_cut(const FaceCutRule& rule, const Face& face, base::RandomStream& random);

}  // namespace cinnabar::data
