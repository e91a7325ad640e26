// A data set as the user describes it, and as a scan of the disk finds it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/data/bucket.h"
#include "cinnabar/data/caption.h"
#include "cinnabar/data/caption_file.h"
#include "cinnabar/data/interpolation.h"

namespace cinnabar::data {

// One folder of pictures. Names and defaults are those of sd-scripts' data set configuration.
struct SubsetOptions {
  std::filesystem::path image_dir;
  bool is_reg = false;         // regularisation pictures: repeated to match the others, weighted by prior_loss_weight
  int64_t num_repeats = 1;     // how often a picture occurs in an epoch
  std::string class_tokens{};  // caption of pictures without a caption file
  // Unset: ".caption", and where that file is missing ".txt".
  std::optional<std::string> caption_extension{};
  CaptionOptions caption{};
  bool flip_aug = false;  // mirrored left to right in half of the draws
  bool color_aug = false;
  bool random_crop = false;
  bool alpha_mask = false;
  bool cache_info = false;
  std::optional<std::array<double, 2>> face_crop_aug_range{};
  std::optional<Interpolation> resize_interpolation{};  // over the data set's
  std::filesystem::path metadata_file{};                // fine-tuning data sets
  std::filesystem::path conditioning_data_dir{};        // ControlNet data sets
  std::string custom_attributes{};                      // a JSON object, passed through to the batch
};

struct DatasetOptions {
  BucketOptions bucket{};
  int64_t batch_size = 1;
  double network_multiplier = 1.0;
  double validation_split = 0.0;
  std::optional<int64_t> validation_seed{};
  std::optional<Interpolation> resize_interpolation{};
  std::vector<SubsetOptions> subsets{};
};

enum class Severity {
  Info,     // worth knowing; nothing is lost
  Warning,  // something is left out or used otherwise than the user may expect
  Error,    // the run cannot start
};

// One finding of a scan. Findings are gathered, never thrown one by one.
struct Issue {
  Severity severity = Severity::Warning;
  std::filesystem::path path;
  std::string message;  // what was found
  std::string action;   // what is done about it: "left out", "used with class tokens", ...
};

struct Sample {
  std::filesystem::path path;
  Size size;  // upright: the EXIF orientation is applied
  BucketChoice bucket;
  std::string caption;  // as read, before process_caption
  CaptionOrigin caption_origin = CaptionOrigin::None;
  int64_t repeats = 1;  // occurrences in an epoch, after balancing
  bool is_reg = false;
  size_t subset = 0;  // index into DatasetOptions::subsets
};

struct Dataset {
  DatasetOptions options;
  std::vector<Sample> samples;  // by subset, then by name; reg pictures that are never reached are not in it
  std::vector<Issue> issues;    // in the order of subsets and names

  bool has_errors() const;
  // Sum of repeats: pictures seen in an epoch.
  int64_t item_count() const;
};

}  // namespace cinnabar::data
