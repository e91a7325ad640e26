// Decoding, resizing with centre cut, and normalised pixels against Pillow and OpenCV as sd-scripts uses them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/data/picture.h"
#include "cinnabar/data/resize.h"
#include "cinnabar/formats/checkpoint.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using nlohmann::json;

// As the reference loads: no orientation, 16-bit grey clipped.
data::LoadOptions reference_options(bool with_alpha) {
  return {.with_alpha = with_alpha, .apply_orientation = false, .sixteen_bit = data::SixteenBit::ClipGrey};
}

double difference(const data::Picture& picture, const formats::TensorView& expected) {
  if (expected.dtype != formats::Dtype::U8 ||
      expected.shape != std::vector<int64_t>{picture.height, picture.width, picture.channels}) {
    return INFINITY;
  }
  int largest = 0;
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    largest = std::max(largest, std::abs(int{picture.pixels[i]} - std::to_integer<int>(expected.bytes[i])));
  }
  return largest;
}

// The tolerances of the golden's README: another JPEG decoder may round otherwise, CMYK is rounded twice.
double load_tolerance(const json& file) {
  if (file.at("pil_mode") == "CMYK") return 3.0;
  const std::string name = file.at("file");
  return name.ends_with(".jpg") || name.ends_with(".jpeg") || name.find("lossy.webp") != std::string::npos ? 2.0 : 0.0;
}

double resize_tolerance(const data::Picture& original, const data::BucketChoice& choice, const json& interpolation) {
  const data::Interpolation chosen = interpolation.is_string()
                                         ? data::interpolation_from(interpolation.get<std::string>())
                                         : data::default_interpolation(original.size(), choice.resized);
  return chosen == data::Interpolation::Area || chosen == data::Interpolation::Nearest ? 1.0 : 2.0;
}

data::Size size_of(const json& pair) { return {pair.at(0).get<int64_t>(), pair.at(1).get<int64_t>()}; }

void compare_files(const std::filesystem::path& folder, const json& files, const formats::Checkpoint& tensors,
                   Reporter& reporter) {
  for (const json& file : files) {
    const std::string name = file.at("file");
    const data::PictureInfo info = data::probe_picture(folder / "images" / name);
    reporter.result("pictures." + name + ".size", info.stored == size_of(file.at("pil_size")) ? 0.0 : INFINITY, 0.0);
    for (const bool with_alpha : {false, true}) {
      const std::string key = name + (with_alpha ? ".load.rgba" : ".load.rgb");
      const formats::TensorView* expected = tensors.find(key);
      if (expected == nullptr) continue;
      const data::Picture picture = data::load_picture(folder / "images" / name, reference_options(with_alpha));
      reporter.result("pictures." + key, difference(picture, *expected), load_tolerance(file));
    }
    if (const formats::TensorView* expected = tensors.find("normalised." + name)) {
      const data::Picture picture = data::load_picture(folder / "images" / name, reference_options(false));
      std::vector<float> pixels(picture.pixels.size());
      data::normalise_to(picture, pixels);
      double largest = pixels.size() * sizeof(float) == expected->bytes.size() ? 0.0 : INFINITY;
      for (size_t i = 0; std::isfinite(largest) && i < pixels.size(); ++i) {
        float value = 0.0F;
        std::memcpy(&value, expected->bytes.data() + i * sizeof(float), sizeof(float));
        largest = std::max(largest, std::abs(static_cast<double>(pixels[i]) - static_cast<double>(value)));
      }
      // One rounding of fp32 near 1; a decoder difference would be at least 2 / 255.
      reporter.result("pictures.normalised." + name, largest, 1.2e-7);
    }
  }
}

void pictures(const std::filesystem::path& folder, Reporter& reporter) {
  const json description = json::parse(base::read_file(folder / "images.json"));
  const auto tensors = formats::Checkpoint::open(folder / "images.safetensors");
  compare_files(folder, description.at("files"), *tensors, reporter);
  for (const json& one : description.at("resize_cases")) {
    const std::string file = one.at("file");
    const data::Picture original =
        data::load_picture(folder / "images" / file, reference_options(one.at("alpha").get<bool>()));
    const data::BucketChoice choice = {.bucket = size_of(one.at("bucket")), .resized = size_of(one.at("resized"))};
    const json& name = one.at("interpolation");
    std::optional<data::Interpolation> interpolation;
    if (name.is_string()) interpolation = data::interpolation_from(name.get<std::string>());
    const std::string key = one.at("key");
    reporter.result("pictures." + key + " " + file + " to " + to_string(choice.bucket),
                    difference(data::fitted(original, choice, interpolation), tensors->at(key)),
                    resize_tolerance(original, choice, name), name.is_string() ? name.get<std::string>() : "default");
  }
}

CINNABAR_PARITY_GROUP(data_pictures, "data.pictures", pictures);

}  // namespace
}  // namespace cinnabar::parity
