#include "cinnabar/data/sample_picture.h"

#include <cmath>

#include "cinnabar/base/error.h"
#include "cinnabar/base/random_stream.h"
#include "cinnabar/data/colour_augmentation.h"
#include "cinnabar/data/face_crop.h"
#include "cinnabar/data/resize.h"

namespace cinnabar::data {

namespace {

using base::Purpose;
using base::RandomStream;

// A cut of the resized picture. Masks take the same way.
struct Cut {
  Size resized;
  Offset offset;
  Size size;
  bool is_unscaled = false;  // buckets are off and the picture was cut without being fitted: no size numbers
};

Offset random_offset(Size from, Size to, RandomStream& random) {
  const int64_t top = random.integer(0, from.height - to.height + 1);
  return {.left = random.integer(0, from.width - to.width + 1), .top = top};
}

bool covers(Size picture, Size target) { return picture.width >= target.width && picture.height >= target.height; }

Cut fitted_cut(const Sample& sample) {
  const BucketChoice& choice = sample.bucket;
  return {choice.resized, centre_offset(choice.resized, choice.bucket), choice.bucket};
}

Cut chosen_cut(const Sample& sample, const DatasetOptions& options, const PictureDraw& draw) {
  const SubsetOptions& subset = options.subsets.at(sample.subset);
  RandomStream random(draw.seed, Purpose::Crop, draw.epoch, draw.item);
  Cut cut = fitted_cut(sample);
  const Size target = sample.bucket.bucket;
  if (!options.bucket.enable_bucket && covers(sample.size, target) && sample.size != target) {
    const std::optional<Face> face = subset.face_crop_aug_range ? face_from_name(sample.path) : std::optional<Face>{};
    if (face) {
      const FaceCut found = face_cut(
          {.picture = sample.size, .target = target, .range = *subset.face_crop_aug_range, .roams = subset.random_crop},
          *face, random);
      return {found.resized, found.offset, target, true};
    }
    if (subset.random_crop) return {sample.size, random_offset(sample.size, target, random), target, true};
  }
  if (subset.random_crop) cut.offset = random_offset(cut.resized, cut.size, random);
  return cut;
}

// Of a grown or shrunk mask file: it must show the same picture, so the shape has to agree within a pixel.
bool has_same_shape(Size mask, Size picture) {
  const double expected =
      static_cast<double>(mask.width) * static_cast<double>(picture.height) / static_cast<double>(picture.width);
  return std::abs(expected - static_cast<double>(mask.height)) <= 1.0;
}

std::vector<uint8_t> one_channel(const Picture& picture, size_t channel) {
  const auto channels = static_cast<size_t>(picture.channels);
  std::vector<uint8_t> values(picture.pixels.size() / channels);
  for (size_t i = 0; i < values.size(); ++i) values[i] = picture.pixels[i * channels + channel];
  return values;
}

// A mask without orientation of its own that lies as the stored picture does is turned with the picture.
Picture load_mask(const Sample& sample) {
  const PictureInfo own = probe_picture(sample.mask);
  Picture mask = load_picture(sample.mask);
  if (has_same_shape(mask.size(), sample.size)) return mask;
  const PictureInfo picture = probe_picture(sample.path);
  if (own.orientation <= 1 && picture.orientation >= 5 && has_same_shape(mask.size(), picture.stored)) {
    return oriented(std::move(mask), picture.orientation);
  }
  throw base::Error(base::ErrorCode::Data, sample.mask.string() + ": the mask has " + to_string(mask.size()) +
                                               " pixels, its picture " + sample.path.string() + " has " +
                                               to_string(sample.size) + "; expected the same shape");
}

PreparedPicture prepare(const Sample& sample, const DatasetOptions& options, const PictureDraw* draw, bool is_flipped) {
  const SubsetOptions& subset = options.subsets.at(sample.subset);
  const Cut cut = draw == nullptr ? fitted_cut(sample) : chosen_cut(sample, options, *draw);
  const auto interpolation = interpolation_of(sample, options);
  LoadOptions load{.with_alpha = subset.alpha_mask};
  if (!subset.alpha_mask) load.background = options.background;
  Picture picture = load_picture(sample.path, load);
  if (picture.size() != sample.size) {
    throw base::Error(base::ErrorCode::Data, sample.path.string() + ": it has " + to_string(picture.size()) +
                                                 " pixels now and had " + to_string(sample.size) +
                                                 " when the data set was read; start again");
  }
  picture = cropped(resized(picture, cut.resized, interpolation), cut.offset, cut.size);
  if (draw != nullptr && subset.color_aug) {
    RandomStream random(draw->seed, Purpose::Colour, draw->epoch, draw->item);
    augment_colour(picture, random);
  }
  if (is_flipped) picture = flipped(picture);
  PreparedPicture result;
  if (!sample.mask.empty()) {
    Picture mask = cropped(resized(load_mask(sample), cut.resized, interpolation), cut.offset, cut.size);
    result.mask = one_channel(is_flipped ? flipped(mask) : mask, 0);
  } else if (subset.alpha_mask) {
    result.mask = one_channel(picture, 3);
  }
  if (picture.channels == 4) picture = without_alpha(picture, std::nullopt);
  result.picture = std::move(picture);
  result.numbers = cut.is_unscaled ? SizeNumbers{cut.size, {}, cut.size} : size_numbers(sample, is_flipped);
  return result;
}

}  // namespace

bool has_mask(const Sample& sample, const DatasetOptions& options) {
  return !sample.mask.empty() || options.subsets.at(sample.subset).alpha_mask;
}

std::optional<Interpolation> interpolation_of(const Sample& sample, const DatasetOptions& options) {
  const auto& own = options.subsets.at(sample.subset).resize_interpolation;
  return own ? own : options.resize_interpolation;
}

SizeNumbers size_numbers(const Sample& sample, bool is_flipped) {
  const Size target = sample.bucket.bucket;
  const CropNumbers numbers = crop_numbers(target, sample.size);
  const double left = is_flipped ? static_cast<double>(target.width) - numbers.right : numbers.left;
  return {.original = sample.size,
          .crop = {.left = static_cast<int64_t>(left), .top = static_cast<int64_t>(numbers.top)},
          .target = target};
}

PreparedPicture prepare_picture(const Sample& sample, const DatasetOptions& options, const PictureDraw& draw) {
  return prepare(sample, options, &draw, draw.is_flipped);
}

PreparedPicture prepare_picture(const Sample& sample, const DatasetOptions& options, bool is_flipped) {
  return prepare(sample, options, nullptr, is_flipped);
}

}  // namespace cinnabar::data
