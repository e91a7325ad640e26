#include "cinnabar/data/dataset_keys.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "cinnabar/base/error.h"
#include "cinnabar/schema/escape_hint.h"
#include "cinnabar/schema/extension_rule.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::data {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// Each reader returns what was expected, or "" when the value is set. Types are strict, as in sd-scripts.

std::string read_flag(const Json& value, bool& out) {
  if (!value.is_boolean()) return "expected true or false";
  out = value.get<bool>();
  return {};
}

std::string read_int(const Json& value, int64_t low, int64_t high, int64_t& out) {
  const bool fits = value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > kLargest) &&
                    value.get<int64_t>() >= low && value.get<int64_t>() <= high;
  if (!fits) {
    return "expected a whole number" + (high == kLargest
                                            ? " of at least " + std::to_string(low)
                                            : " from " + std::to_string(low) + " to " + std::to_string(high));
  }
  out = value.get<int64_t>();
  return {};
}

// Folders with fewer than 1 are left out, which the scan says.
std::string read_repeats(const Json& value, int64_t& out) {
  if (read_int(value, -kLargest, kMostRepeats, out).empty()) return {};
  return "expected a whole number from 1 to " + std::to_string(kMostRepeats);
}

std::string read_number(const Json& value, double low, double high, double& out) {
  if (!value.is_number() || !(value.get<double>() >= low && value.get<double>() <= high)) {
    return "expected a number from " + schema::number_text(low) +
           (high < 1e15 ? " to " + schema::number_text(high) : " upwards");
  }
  out = value.get<double>();
  return {};
}

// Where sd-scripts refuses whole numbers.
std::string read_fraction(const Json& value, double low, double high, double& out) {
  if (!value.is_number_float()) return "expected a number with a decimal point, for example 1.0";
  return read_number(value, low, high, out);
}

std::string read_text(const Json& value, std::string& out) {
  if (!value.is_string()) return "expected a text between quotation marks";
  out = value.get<std::string>();
  return {};
}

std::string read_path(const Json& value, std::filesystem::path& out) {
  std::string text;
  if (std::string problem = read_text(value, text); !problem.empty()) return problem;
  if (text.empty()) return "expected a folder";
  if (std::string problem = schema::control_character_problem(text); !problem.empty()) return problem;
  out = text;
  return {};
}

constexpr int64_t kSmallestSide = 8;
constexpr int64_t kLargestSide = 16384;

std::string read_resolution(const Json& value, Size& out) {
  const auto is_side = [](const Json& side) {
    return side.is_number_integer() && side.get<int64_t>() >= kSmallestSide && side.get<int64_t>() <= kLargestSide;
  };
  if (is_side(value)) {
    out = {value.get<int64_t>(), value.get<int64_t>()};
    return {};
  }
  if (value.is_array() && value.size() == 2 && is_side(value[0]) && is_side(value[1])) {
    out = {value[0].get<int64_t>(), value[1].get<int64_t>()};
    return {};
  }
  return "expected a side (512) or [WIDTH, HEIGHT] ([512, 768]), each from 8 to 16384";
}

std::string read_face_range(const Json& value, std::optional<std::array<double, 2>>& out) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_number_float() || !value[1].is_number_float()) {
    return "expected two numbers with decimal points, for example [2.0, 4.0]";
  }
  out = {value[0].get<double>(), value[1].get<double>()};
  if (!((*out)[0] > 0) || !((*out)[1] >= (*out)[0])) return "expected numbers above 0, the smaller one first";
  return {};
}

std::string read_filter(const Json& value, ConfigPlace place, DatasetSettings& settings) {
  std::string name;
  if (std::string problem = read_text(value, name); !problem.empty()) return problem;
  try {
    (place == ConfigPlace::Subset ? settings.subset.resize_interpolation : settings.dataset.resize_interpolation) =
        interpolation_from(name);
  } catch (const base::Error&) {
    return "expected one of lanczos, nearest, bilinear, linear, bicubic, cubic, area, box";
  }
  return {};
}

std::string read_lines(const Json& value, CaptionLines& out) {
  const auto lines = value.is_string() ? caption_lines_from(value.get<std::string>()) : std::nullopt;
  if (!lines) return "expected \"first\", \"random\" or \"join\"";
  out = *lines;
  return {};
}

std::string read_extension(const Json& value, std::optional<std::string>& out) {
  std::string text;
  if (std::string problem = read_text(value, text); !problem.empty()) return problem;
  if (std::string problem = schema::extension_problem(text); !problem.empty()) return problem;
  out = text;
  return {};
}

std::string read_separator(const Json& value, std::string& out) {
  std::string text;
  if (std::string problem = read_text(value, text); !problem.empty()) return problem;
  if (text.empty()) return "expected at least one character, for example \",\"";
  out = text;
  return {};
}

std::string read_attributes(const Json& value, std::string& out) {
  if (!value.is_object()) return "expected a table";
  out = value.dump();
  return {};
}

// Rows of the table. `V`, `P`, `S`: value, place, settings.
#define CINNABAR_DATASET_KEY(expression) \
  [](const Json& V, [[maybe_unused]] ConfigPlace P, DatasetSettings& S) -> std::string { return expression; }

std::vector<DatasetKey> picture_keys() {
  return {
      {"color_aug", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.color_aug))},
      {"face_crop_aug_range", true, true, true, CINNABAR_DATASET_KEY(read_face_range(V, S.subset.face_crop_aug_range))},
      {"flip_aug", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.flip_aug))},
      {"num_repeats", true, true, true, CINNABAR_DATASET_KEY(read_repeats(V, S.subset.num_repeats))},
      {"random_crop", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.random_crop))},
      {"custom_attributes", true, true, true, CINNABAR_DATASET_KEY(read_attributes(V, S.subset.custom_attributes))},
      {"resize_interpolation", true, true, true, CINNABAR_DATASET_KEY(read_filter(V, P, S))},
      {"cache_info", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.cache_info))},
      {"recursive", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.recursive))},
      {"image_dir", false, false, true, CINNABAR_DATASET_KEY(read_path(V, S.subset.image_dir))},
      {"conditioning_data_dir", false, false, true, CINNABAR_DATASET_KEY(read_path(V, S.subset.conditioning_data_dir))},
      {"metadata_file", false, false, true, CINNABAR_DATASET_KEY(read_path(V, S.subset.metadata_file))},
      {"is_reg", false, false, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.is_reg))},
      {"alpha_mask", false, false, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.alpha_mask))},
  };
}

std::vector<DatasetKey> caption_keys() {
  return {
      {"shuffle_caption", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.caption.shuffle_caption))},
      {"keep_tokens", true, true, true, CINNABAR_DATASET_KEY(read_int(V, 0, kLargest, S.subset.caption.keep_tokens))},
      {"keep_tokens_separator", true, true, true,
       CINNABAR_DATASET_KEY(read_text(V, S.subset.caption.keep_tokens_separator))},
      {"secondary_separator", true, true, true,
       CINNABAR_DATASET_KEY(read_text(V, S.subset.caption.secondary_separator))},
      {"caption_separator", true, true, true,
       CINNABAR_DATASET_KEY(read_separator(V, S.subset.caption.caption_separator))},
      {"caption_joiner", true, true, true, CINNABAR_DATASET_KEY(read_text(V, S.subset.caption.caption_joiner))},
      {"caption_lines", true, true, true, CINNABAR_DATASET_KEY(read_lines(V, S.subset.caption.caption_lines))},
      {"enable_wildcard", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.caption.enable_wildcard))},
      {"token_warmup_min", true, true, true,
       CINNABAR_DATASET_KEY(read_int(V, 0, kLargest, S.subset.caption.token_warmup_min))},
      {"token_warmup_step", true, true, true,
       CINNABAR_DATASET_KEY(read_number(V, 0.0, 1e15, S.subset.caption.token_warmup_step))},
      {"caption_prefix", true, true, true, CINNABAR_DATASET_KEY(read_text(V, S.subset.caption.caption_prefix))},
      {"caption_suffix", true, true, true, CINNABAR_DATASET_KEY(read_text(V, S.subset.caption.caption_suffix))},
      {"caption_dropout_every_n_epochs", true, true, true,
       CINNABAR_DATASET_KEY(read_int(V, 0, kLargest, S.subset.caption.caption_dropout_every_n_epochs))},
      {"caption_dropout_rate", true, true, true,
       CINNABAR_DATASET_KEY(read_number(V, 0.0, 1.0, S.subset.caption.caption_dropout_rate))},
      {"caption_tag_dropout_rate", true, true, true,
       CINNABAR_DATASET_KEY(read_number(V, 0.0, 1.0, S.subset.caption.caption_tag_dropout_rate))},
      {"caption_extension", true, true, true, CINNABAR_DATASET_KEY(read_extension(V, S.subset.caption_extension))},
      {"class_tokens", true, true, true, CINNABAR_DATASET_KEY(read_text(V, S.subset.class_tokens))},
      {"face_captions", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.has_face_names))},
      {"skip_uncaptioned", true, true, true, CINNABAR_DATASET_KEY(read_flag(V, S.subset.skip_uncaptioned))},
  };
}

std::string read_seed(const Json& value, std::optional<int64_t>& out) {
  int64_t seed = 0;
  if (std::string problem = read_int(value, -kLargest, kLargest, seed); !problem.empty())
    return "expected a whole number";
  out = seed;
  return {};
}

std::vector<DatasetKey> batch_keys() {
  return {
      {"batch_size", true, true, false, CINNABAR_DATASET_KEY(read_int(V, 1, 4096, S.dataset.batch_size))},
      {"bucket_no_upscale", true, true, false, CINNABAR_DATASET_KEY(read_flag(V, S.dataset.bucket.bucket_no_upscale))},
      {"bucket_reso_steps", true, true, false,
       CINNABAR_DATASET_KEY(read_int(V, 1, 1024, S.dataset.bucket.bucket_reso_steps))},
      {"enable_bucket", true, true, false, CINNABAR_DATASET_KEY(read_flag(V, S.dataset.bucket.enable_bucket))},
      {"max_bucket_reso", true, true, false,
       CINNABAR_DATASET_KEY(read_int(V, 1, 65536, S.dataset.bucket.max_bucket_reso))},
      {"min_bucket_reso", true, true, false,
       CINNABAR_DATASET_KEY(read_int(V, 1, 65536, S.dataset.bucket.min_bucket_reso))},
      {"resolution", true, true, false, CINNABAR_DATASET_KEY(read_resolution(V, S.dataset.bucket.resolution))},
      {"network_multiplier", true, true, false,
       CINNABAR_DATASET_KEY(read_fraction(V, -1e9, 1e9, S.dataset.network_multiplier))},
      {"validation_seed", true, true, false, CINNABAR_DATASET_KEY(read_seed(V, S.dataset.validation_seed))},
      {"validation_split", true, true, false,
       CINNABAR_DATASET_KEY(read_fraction(V, 0.0, 1.0, S.dataset.validation_split))},
  };
}

#undef CINNABAR_DATASET_KEY

}  // namespace

std::string_view to_string(ConfigPlace place) {
  constexpr std::string_view kNames[] = {"[general]", "[[datasets]]", "[[datasets.subsets]]"};
  return kNames[static_cast<size_t>(place)];
}

bool DatasetKey::allowed_in(ConfigPlace place) const {
  return place == ConfigPlace::General ? in_general : place == ConfigPlace::Dataset ? in_dataset : in_subset;
}

const std::vector<DatasetKey>& dataset_keys() {
  static const std::vector<DatasetKey> kKeys = [] {
    std::vector<DatasetKey> keys = picture_keys();
    for (const auto& more : {caption_keys(), batch_keys()}) keys.insert(keys.end(), more.begin(), more.end());
    return keys;
  }();
  return kKeys;
}

const DatasetKey* find_dataset_key(std::string_view name) {
  const auto found = std::ranges::find(dataset_keys(), name, &DatasetKey::name);
  return found == dataset_keys().end() ? nullptr : &*found;
}

std::vector<std::string> dataset_key_names(ConfigPlace place) {
  std::vector<std::string> names;
  for (const DatasetKey& key : dataset_keys()) {
    if (key.allowed_in(place)) names.emplace_back(key.name);
  }
  return names;
}

}  // namespace cinnabar::data
