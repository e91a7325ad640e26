// Aspect-ratio buckets: which size a picture is trained at, and how it is resized and cut to get there.
// Same numbers as sd-scripts (library/train_util.py, BucketManager).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::data {

// In pixels. Orders by width, then height.
struct Size {
  int64_t width = 0;
  int64_t height = 0;
  friend auto operator<=>(const Size&, const Size&) = default;
};

// "WIDTHxHEIGHT".
std::string to_string(Size size);
// Rounds half up, as int(x + 0.5) does for positive numbers.
int64_t rounded(double x);

struct BucketOptions {
  Size resolution{512, 512};  // its area is what every bucket stays below
  bool enable_bucket = false;
  bool bucket_no_upscale = false;
  int64_t min_bucket_reso = 256;  // shortest side of a bucket; unused with bucket_no_upscale
  int64_t max_bucket_reso = 1024;
  int64_t bucket_reso_steps = 64;  // buckets are multiples of this
};

// min_bucket_reso rounded down and max_bucket_reso rounded up to a multiple of the step, and the rest checked. Each
// change adds a sentence to `notes`. Throws Error{Config} when the resolution does not fit between them or a number is
// not positive.
BucketOptions prepared(BucketOptions options, std::vector<std::string>& notes);

struct BucketChoice {
  Size bucket;                // what the model sees
  Size resized;               // covers the bucket; the rest is cut off
  double aspect_error = 0.0;  // width / height of the bucket minus that of the picture
};

class BucketRule {
 public:
  // Takes the options as they are (see prepared). Throws Error{Config} for sizes or steps that are not positive.
  explicit BucketRule(const BucketOptions& options);

  // Ascending. Empty with bucket_no_upscale; the resolution alone when buckets are off.
  const std::vector<Size>& predefined() const { return predefined_; }
  // Throws Error{Data} when a side of the bucket would be 0 (tiny or very elongated pictures).
  BucketChoice choose(Size picture) const;

 private:
  BucketChoice choose_predefined(Size picture) const;
  BucketChoice choose_without_upscaling(Size picture) const;

  BucketOptions options_;
  std::vector<Size> predefined_;
};

// Left upper corner of the bucket inside the resized picture when cut from the centre.
struct Offset {
  int64_t left = 0;
  int64_t top = 0;
  friend bool operator==(const Offset&, const Offset&) = default;
};
Offset centre_offset(Size resized, Size bucket);

// The four numbers of SDXL's size conditioning. They come from the two sizes alone, not from the real cut.
struct CropNumbers {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
};
CropNumbers crop_numbers(Size bucket, Size original);

}  // namespace cinnabar::data
