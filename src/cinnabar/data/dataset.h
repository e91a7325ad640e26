// A data set as the user describes it, and as a scan of the disk finds it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/data/bucket.h"
#include "cinnabar/data/caption.h"
#include "cinnabar/data/caption_file.h"
#include "cinnabar/data/interpolation.h"

namespace cinnabar::data {

constexpr int64_t kMostRepeats = 100'000;
constexpr int64_t kMostItems = 10'000'000;  // of an epoch, with repeats

// One folder of pictures. Names and defaults are those of sd-scripts' data set configuration.
struct SubsetOptions {
  std::filesystem::path image_dir;
  bool is_reg = false;         // regularisation pictures: repeated to match the others, weighted by prior_loss_weight
  int64_t num_repeats = 1;     // how often a picture occurs in an epoch
  std::string class_tokens{};  // caption of pictures without a caption file
  // Unset: ".caption", and where that file is missing ".txt".
  std::optional<std::string> caption_extension{};
  CaptionOptions caption{};
  bool has_face_names = false;    // captions of name_1_2_3_4.png (face coordinates) may lie in name.txt
  bool skip_uncaptioned = false;  // pictures without a caption are left out
  bool recursive = false;         // with the folders below
  bool flip_aug = false;          // mirrored left to right in half of the draws
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

// Three bytes, R G B.
using Colour = std::array<uint8_t, 3>;

struct DatasetOptions {
  BucketOptions bucket{};
  int64_t batch_size = 1;
  double network_multiplier = 1.0;
  double validation_split = 0.0;
  std::optional<int64_t> validation_seed{};
  std::optional<Interpolation> resize_interpolation{};
  // What transparent parts are laid over. Unset: the colour stored beneath them shows, as in sd-scripts. Pictures of
  // alpha_mask subsets keep it too, since there the mask takes care of it.
  std::optional<Colour> background = Colour{255, 255, 255};
  std::vector<SubsetOptions> subsets{};
};

enum class Severity {
  Info,     // worth knowing; nothing is lost
  Warning,  // something is left out or used otherwise than the user may expect
  Error,    // the run cannot start
};

// What became of what was found.
enum class Treatment {
  Used,     // as it is
  Fixed,    // mended or read in another way
  LeftOut,  // a picture, caption or folder that the user may expect in the run
  Blocks,   // the run cannot start
};
std::string_view to_string(Treatment treatment);

// One finding of a scan. Findings are gathered, never thrown one by one.
struct Issue {
  Severity severity = Severity::Warning;
  std::filesystem::path path;
  std::string message;  // what was found
  std::string action;   // what is done about it: "left out", "used with class tokens", ...
  Treatment treatment = Treatment::Used;
  std::string kind{};  // stable name, for programs and for summaries: "cut_off", "no_caption", ...
};

struct Sample {
  std::filesystem::path path;
  Size size;  // upright: the EXIF orientation is applied
  BucketChoice bucket;
  std::string caption;  // as read, before process_caption
  CaptionOrigin caption_origin = CaptionOrigin::None;
  int64_t repeats = 1;  // occurrences in the first epoch, after balancing (regularisation.h); 0: in a later one
  bool is_reg = false;
  size_t subset = 0;  // index into DatasetOptions::subsets
  // Picture whose red channel weighs the loss (conditioning_data_dir); empty: none.
  std::filesystem::path mask{};
};

struct Dataset {
  DatasetOptions options;
  std::vector<Sample> samples;  // by subset, then by name
  std::vector<Issue> issues;    // in the order of subsets and names

  bool has_errors() const;
  // Sum of repeats: pictures seen in the first epoch.
  int64_t item_count() const;
};

// Takes samples out, by index, and balances regularisation pictures anew.
void remove_samples(Dataset& dataset, const std::vector<size_t>& indices);

}  // namespace cinnabar::data
