// One occurrence of a picture: read, cut to its bucket, coloured, mirrored, with its mask and the numbers that
// size-conditioned models are told.
#pragma once

#include <functional>

#include "cinnabar/data/dataset.h"
#include "cinnabar/data/picture.h"

namespace cinnabar::data {

// Key of the random streams of one occurrence. Crop and colour are drawn from streams of their own, so that one option
// does not change what another one draws.
struct PictureDraw {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t item = 0;
  bool is_flipped = false;
};

// What SDXL is told about a picture. Real cut offsets do not count: see crop_numbers in bucket.h.
struct SizeNumbers {
  Size original;
  Offset crop;
  Size target;
  friend bool operator==(const SizeNumbers&, const SizeNumbers&) = default;
};

struct PreparedPicture {
  Picture picture;            // R G B, as large as the bucket
  std::vector<uint8_t> mask;  // height * width, 255 counts in full; empty: all of it counts
  SizeNumbers numbers;
};

// Whether the loss of this sample is masked: its subset takes the alpha channel, or it has a mask picture.
bool has_mask(const Sample& sample, const DatasetOptions& options);

// The filter of the sample's subset, else of the data set; unset: by the sizes.
std::optional<Interpolation> interpolation_of(const Sample& sample, const DatasetOptions& options);

// Of a picture that was resized to cover its bucket, which every cached one was.
SizeNumbers size_numbers(const Sample& sample, bool is_flipped);

// Without `draw` nothing is left to chance, which is what caches hold: cut from the centre, colours as they are. With
// it, as the subset asks (random_crop, face_crop_aug_range, color_aug), in the order of sd-scripts: read, resize and
// cut, colour, mirror. Throws Error{Io} or Error{Data} that names the file.
PreparedPicture prepare_picture(const Sample& sample, const DatasetOptions& options, const PictureDraw& draw);
PreparedPicture prepare_picture(const Sample& sample, const DatasetOptions& options, bool is_flipped);

}  // namespace cinnabar::data
