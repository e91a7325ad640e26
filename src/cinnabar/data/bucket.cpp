#include "cinnabar/data/bucket.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "cinnabar/base/error.h"

namespace cinnabar::data {

namespace {

using base::Error;
using base::ErrorCode;

double aspect(Size size) { return static_cast<double>(size.width) / static_cast<double>(size.height); }

int64_t rounded_to_step(double x, int64_t step) { return rounded(x) - rounded(x) % step; }

// Widths from the shortest to the longest side, each with the largest height that keeps the area.
std::vector<Size> predefined_sizes(const BucketOptions& options) {
  const int64_t step = options.bucket_reso_steps;
  const int64_t area = options.resolution.width * options.resolution.height;
  std::set<Size> sizes;
  const int64_t square = static_cast<int64_t>(std::sqrt(static_cast<double>(area))) / step * step;
  sizes.insert({square, square});
  for (int64_t width = options.min_bucket_reso; width <= options.max_bucket_reso; width += step) {
    const int64_t height = std::min(options.max_bucket_reso, area / width / step * step);
    if (height < options.min_bucket_reso) continue;
    sizes.insert({width, height});
    sizes.insert({height, width});
  }
  return {sizes.begin(), sizes.end()};
}

void require_positive(int64_t value, const std::string& name) {
  if (value > 0) return;
  throw Error(ErrorCode::Config, name + " = " + std::to_string(value) + ": expected a number of pixels above 0");
}

[[noreturn]] void no_bucket(Size picture, const BucketOptions& options) {
  throw Error(ErrorCode::Data,
              "a picture of " + to_string(picture) + " pixels fits no bucket: a side would be shorter than " +
                  std::to_string(options.bucket_reso_steps) +
                  " (bucket_reso_steps); use a larger or less elongated picture, or turn bucket_no_upscale off");
}

}  // namespace

int64_t rounded(double x) { return static_cast<int64_t>(x + 0.5); }

std::string to_string(Size size) { return std::to_string(size.width) + "x" + std::to_string(size.height); }

BucketOptions prepared(BucketOptions options, std::vector<std::string>& notes) {
  require_positive(options.resolution.width, "resolution (width)");
  require_positive(options.resolution.height, "resolution (height)");
  if (!options.enable_bucket) return options;
  const int64_t step = options.bucket_reso_steps;
  require_positive(step, "bucket_reso_steps");
  if (options.bucket_no_upscale) {
    notes.push_back(
        "min_bucket_reso and max_bucket_reso are not used: with bucket_no_upscale the pictures decide the buckets.");
    return options;
  }
  require_positive(options.min_bucket_reso, "min_bucket_reso");
  require_positive(options.max_bucket_reso, "max_bucket_reso");
  const int64_t low = options.min_bucket_reso / step * step;
  const int64_t high = (options.max_bucket_reso + step - 1) / step * step;
  if (low != options.min_bucket_reso) {
    notes.push_back("min_bucket_reso " + std::to_string(options.min_bucket_reso) + " is rounded down to " +
                    std::to_string(low) + ", a multiple of bucket_reso_steps.");
  }
  if (high != options.max_bucket_reso) {
    notes.push_back("max_bucket_reso " + std::to_string(options.max_bucket_reso) + " is rounded up to " +
                    std::to_string(high) + ", a multiple of bucket_reso_steps.");
  }
  if (low == 0) {
    throw Error(ErrorCode::Config, "min_bucket_reso = " + std::to_string(options.min_bucket_reso) +
                                       ": smaller than bucket_reso_steps = " + std::to_string(step) +
                                       ", of which it must be a multiple; give a bucket_reso_steps of at most " +
                                       std::to_string(std::max<int64_t>(8, options.min_bucket_reso / 8 * 8)) +
                                       " too, or a larger min_bucket_reso");
  }
  options.min_bucket_reso = low;
  options.max_bucket_reso = high;
  const auto [shorter, longer] = std::minmax(options.resolution.width, options.resolution.height);
  if (shorter < low || longer > high) {
    throw Error(ErrorCode::Config, "resolution = " + to_string(options.resolution) +
                                       ": both sides must lie between min_bucket_reso = " + std::to_string(low) +
                                       " and max_bucket_reso = " + std::to_string(high) + "; change one of the three");
  }
  return options;
}

BucketRule::BucketRule(const BucketOptions& options) : options_(options) {
  require_positive(options.resolution.width, "resolution (width)");
  require_positive(options.resolution.height, "resolution (height)");
  if (!options.enable_bucket) {
    predefined_ = {options.resolution};
    return;
  }
  require_positive(options.bucket_reso_steps, "bucket_reso_steps");
  if (options.bucket_no_upscale) return;
  require_positive(options.min_bucket_reso, "min_bucket_reso");
  predefined_ = predefined_sizes(options);
}

BucketChoice BucketRule::choose(Size picture) const {
  if (picture.width <= 0 || picture.height <= 0) {
    throw Error(ErrorCode::Data,
                "a picture of " + to_string(picture) + " pixels has no content; expected sides above 0");
  }
  BucketChoice choice = predefined_.empty() ? choose_without_upscaling(picture) : choose_predefined(picture);
  if (choice.bucket.width <= 0 || choice.bucket.height <= 0) no_bucket(picture, options_);
  choice.aspect_error = aspect(choice.bucket) - aspect(picture);
  return choice;
}

BucketChoice BucketRule::choose_predefined(Size picture) const {
  const double ratio = aspect(picture);
  Size bucket = predefined_.front();
  if (std::binary_search(predefined_.begin(), predefined_.end(), picture)) {
    bucket = picture;
  } else {
    // The first of the nearest ones, which for equal ratios is the smallest.
    for (const Size& size : predefined_) {
      if (std::abs(aspect(size) - ratio) < std::abs(aspect(bucket) - ratio)) bucket = size;
    }
  }
  const double scale = ratio > aspect(bucket) ? static_cast<double>(bucket.height) / static_cast<double>(picture.height)
                                              : static_cast<double>(bucket.width) / static_cast<double>(picture.width);
  return {.bucket = bucket,
          .resized = {rounded(static_cast<double>(picture.width) * scale),
                      rounded(static_cast<double>(picture.height) * scale)}};
}

BucketChoice BucketRule::choose_without_upscaling(Size picture) const {
  const int64_t step = options_.bucket_reso_steps;
  const int64_t area = options_.resolution.width * options_.resolution.height;
  Size resized = picture;
  if (picture.width * picture.height > area) {
    // Two candidates, by a rounded width and by a rounded height; the one nearer to the picture's ratio is taken.
    const double ratio = aspect(picture);
    const double exact_width = std::sqrt(static_cast<double>(area) * ratio);
    const double exact_height = static_cast<double>(area) / exact_width;
    const int64_t width = rounded_to_step(exact_width, step);
    const int64_t height_of_width = rounded_to_step(static_cast<double>(width) / ratio, step);
    const int64_t height = rounded_to_step(exact_height, step);
    const int64_t width_of_height = rounded_to_step(static_cast<double>(height) * ratio, step);
    if (height_of_width == 0 || height == 0) no_bucket(picture, options_);
    const double error_by_width = std::abs(aspect({width, height_of_width}) - ratio);
    const double error_by_height = std::abs(aspect({width_of_height, height}) - ratio);
    resized = error_by_width < error_by_height ? Size{width, rounded(static_cast<double>(width) / ratio)}
                                               : Size{rounded(static_cast<double>(height) * ratio), height};
  }
  return {.bucket = {resized.width - resized.width % step, resized.height - resized.height % step}, .resized = resized};
}

Offset centre_offset(Size resized, Size bucket) {
  return {.left = (resized.width - bucket.width) / 2, .top = (resized.height - bucket.height) / 2};
}

CropNumbers crop_numbers(Size bucket, Size original) {
  const double ratio = aspect(original);
  const auto bucket_width = static_cast<double>(bucket.width);
  const auto bucket_height = static_cast<double>(bucket.height);
  const bool is_limited_by_height = aspect(bucket) > ratio;
  const double width = is_limited_by_height ? bucket_height * ratio : bucket_width;
  const double height = is_limited_by_height ? bucket_height : bucket_width / ratio;
  const double left = std::floor((bucket_width - width) / 2);
  const double top = std::floor((bucket_height - height) / 2);
  return {.left = left, .top = top, .right = left + width, .bottom = top + height};
}

}  // namespace cinnabar::data
