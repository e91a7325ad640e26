// Buckets, resized sizes, aspect errors, size-conditioning numbers and centre cuts against sd-scripts' BucketManager.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/data/bucket.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using nlohmann::json;

data::Size size_of(const json& pair) { return {pair.at(0).get<int64_t>(), pair.at(1).get<int64_t>()}; }

data::BucketOptions options_of(const json& settings) {
  data::BucketOptions options{.resolution = size_of(settings.at("max_reso")),
                              .enable_bucket = true,
                              .bucket_no_upscale = settings.at("bucket_no_upscale").get<bool>(),
                              .bucket_reso_steps = settings.at("bucket_reso_steps").get<int64_t>()};
  if (settings.at("min_bucket_reso").is_number()) options.min_bucket_reso = settings["min_bucket_reso"].get<int64_t>();
  if (settings.at("max_bucket_reso").is_number()) options.max_bucket_reso = settings["max_bucket_reso"].get<int64_t>();
  return options;
}

// Where the reference failed, or gave a bucket without pixels, we must refuse the picture.
bool is_error_row(const json& row) {
  if (row.size() < 7 || !row.at(2).is_array() || !row.at(3).is_array()) return true;
  return std::ranges::any_of(row.at(2), [](const json& side) { return side.get<int64_t>() <= 0; });
}

double difference(const json& row, const data::BucketRule& rule) {
  const data::Size picture = {row.at(0).get<int64_t>(), row.at(1).get<int64_t>()};
  if (is_error_row(row)) {
    try {
      (void)rule.choose(picture);
    } catch (const base::Error&) {
      return 0.0;
    }
    return INFINITY;
  }
  const data::BucketChoice choice = rule.choose(picture);
  if (choice.bucket != size_of(row.at(2)) || choice.resized != size_of(row.at(3))) return INFINITY;
  const data::CropNumbers crop = data::crop_numbers(choice.bucket, picture);
  const data::Offset offset = data::centre_offset(choice.resized, choice.bucket);
  if (offset != data::Offset{row.at(6).at(0).get<int64_t>(), row.at(6).at(1).get<int64_t>()}) return INFINITY;
  const double numbers[] = {crop.left, crop.top, crop.right, crop.bottom};
  double error = std::abs(choice.aspect_error - row.at(4).get<double>());
  for (size_t i = 0; i < 4; ++i) error = std::max(error, std::abs(numbers[i] - row.at(5).at(i).get<double>()));
  return error;
}

void buckets(const std::filesystem::path& folder, Reporter& reporter) {
  const json cases = json::parse(base::read_file(folder / "buckets.json"));
  for (size_t i = 0; i < cases.size(); ++i) {
    const json& one = cases[i];
    const data::BucketOptions options = options_of(one.at("settings"));
    const std::string name = "buckets." + std::to_string(i) + " " + to_string(options.resolution) +
                             (options.bucket_no_upscale ? " no_upscale" : "");
    const data::BucketRule rule(options);
    std::vector<data::Size> expected;
    for (const json& size : one.at("predefined")) expected.push_back(size_of(size));
    if (rule.predefined() != expected) {
      reporter.fail(name, "the list of sizes differs");
      continue;
    }
    double largest = 0.0;
    std::string worst;
    for (const json& row : one.at("rows")) {
      const double error = difference(row, rule);
      if (error > largest || worst.empty()) worst = row.at(0).dump() + "x" + row.at(1).dump();
      largest = std::max(largest, error);
    }
    // The aspect errors of the file are rounded to eight digits.
    reporter.result(name, largest, 1e-8, std::to_string(one.at("rows").size()) + " pictures, worst " + worst);
  }
}

CINNABAR_PARITY_GROUP(data_buckets, "data.buckets", buckets);

}  // namespace
}  // namespace cinnabar::parity
