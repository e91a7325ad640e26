#include "cinnabar/data/dataset_settings.h"

#include <charconv>

#include "cinnabar/base/error.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::data {

namespace {

CaptionOptions caption_options(const schema::Values& values) {
  CaptionOptions options;
  options.caption_prefix = values.maybe_text("caption_prefix").value_or("");
  options.caption_suffix = values.maybe_text("caption_suffix").value_or("");
  options.caption_dropout_rate = values.maybe_number("caption_dropout_rate").value_or(0.0);
  options.caption_dropout_every_n_epochs = values.maybe_integer("caption_dropout_every_n_epochs").value_or(0);
  options.caption_tag_dropout_rate = values.maybe_number("caption_tag_dropout_rate").value_or(0.0);
  options.enable_wildcard = values.flag("enable_wildcard");
  options.shuffle_caption = values.flag("shuffle_caption");
  options.keep_tokens = values.maybe_integer("keep_tokens").value_or(0);
  options.keep_tokens_separator = values.maybe_text("keep_tokens_separator").value_or("");
  options.caption_separator = values.maybe_text("caption_separator").value_or(",");
  options.secondary_separator = values.maybe_text("secondary_separator").value_or("");
  options.token_warmup_min = values.maybe_integer("token_warmup_min").value_or(1);
  options.token_warmup_step = values.maybe_number("token_warmup_step").value_or(0.0);
  options.caption_joiner = values.maybe_text("caption_joiner").value_or("");
  options.caption_lines =
      caption_lines_from(values.maybe_text("caption_lines").value_or("")).value_or(CaptionLines::Reference);
  return options;
}

// "2.0,4.0" or two numbers.
std::optional<std::array<double, 2>> face_crop_range(const schema::Values& values) {
  if (!values.has("face_crop_aug_range")) return std::nullopt;
  std::vector<double> numbers;
  if (const auto* text = std::get_if<std::string>(&values.raw("face_crop_aug_range"))) {
    const size_t comma = text->find(',');
    for (const std::string& part :
         {text->substr(0, comma), comma == std::string::npos ? "" : text->substr(comma + 1)}) {
      if (const auto number = schema::parse_number(part)) numbers.push_back(*number);
    }
  } else {
    numbers = values.numbers("face_crop_aug_range");
  }
  if (numbers.size() != 2 || !(numbers[0] > 0) || !(numbers[1] >= numbers[0])) {
    throw base::Error(base::ErrorCode::Config,
                      "face_crop_aug_range = " + schema::value_text(values.raw("face_crop_aug_range")) +
                          ": expected two numbers above 0, the smaller one first, for example 2.0,4.0");
  }
  return std::array<double, 2>{numbers[0], numbers[1]};
}

}  // namespace

Size size_from(const std::string& text) {
  const size_t comma = text.find(',');
  const auto width = schema::parse_integer(text.substr(0, comma));
  const auto height = comma == std::string::npos ? width : schema::parse_integer(text.substr(comma + 1));
  if (!width || !height) {
    throw base::Error(base::ErrorCode::Config,
                      "resolution = " + text + ": expected a side (512) or WIDTH,HEIGHT (512,768)");
  }
  return {*width, *height};
}

DatasetSettings settings_from(const schema::Values& values) {
  DatasetSettings settings;
  DatasetOptions& dataset = settings.dataset;
  // The embedded model is made for this size, and its pictures have it.
  const bool is_embedded = values.maybe_text("pretrained_model_name_or_path") == "embedded" ||
                           values.maybe_text("train_data_dir") == "embedded";
  dataset.bucket.resolution = size_from(values.maybe_text("resolution").value_or(is_embedded ? "64" : "512"));
  dataset.bucket.enable_bucket = values.flag("enable_bucket");
  dataset.bucket.bucket_no_upscale = values.flag("bucket_no_upscale");
  dataset.bucket.min_bucket_reso = values.maybe_integer("min_bucket_reso").value_or(256);
  dataset.bucket.max_bucket_reso = values.maybe_integer("max_bucket_reso").value_or(1024);
  dataset.bucket.bucket_reso_steps = values.maybe_integer("bucket_reso_steps").value_or(64);
  dataset.batch_size = values.maybe_integer("train_batch_size").value_or(1);
  dataset.validation_split = values.maybe_number("validation_split").value_or(0.0);
  dataset.validation_seed = values.maybe_integer("validation_seed");
  if (const auto name = values.maybe_text("resize_interpolation")) {
    dataset.resize_interpolation = interpolation_from(*name);
  }
  SubsetOptions& subset = settings.subset;
  subset.caption = caption_options(values);
  subset.caption_extension = values.maybe_text("caption_extension");
  subset.num_repeats = values.maybe_integer("dataset_repeats").value_or(1);
  subset.has_face_names = values.flag("face_captions");
  subset.skip_uncaptioned = values.flag("skip_uncaptioned");
  subset.recursive = values.flag("recursive");
  subset.flip_aug = values.flag("flip_aug");
  subset.color_aug = values.flag("color_aug");
  subset.random_crop = values.flag("random_crop");
  subset.alpha_mask = values.flag("alpha_mask");
  subset.face_crop_aug_range = face_crop_range(values);
  return settings;
}

void check_caches(const schema::Values& values, const std::vector<DatasetOptions>& datasets) {
  const bool has_text = values.flag("cache_text_encoder_outputs") || values.flag("cache_text_encoder_outputs_to_disk");
  const bool has_latents = values.flag("cache_latents") || values.flag("cache_latents_to_disk");
  std::string problems;
  for (const DatasetOptions& dataset : datasets) {
    for (const SubsetOptions& subset : dataset.subsets) {
      const std::string line = "\n  " + subset.image_dir.string() + ": ";
      if (has_text) {
        for (const std::string& name : varying_caption_options(subset.caption))
          problems += line + name + " with cache_text_encoder_outputs";
      }
      if (!has_latents) continue;
      if (subset.color_aug) problems += line + "color_aug with cache_latents";
      if (subset.random_crop) problems += line + "random_crop with cache_latents";
      if (subset.face_crop_aug_range) problems += line + "face_crop_aug_range with cache_latents";
    }
  }
  if (problems.empty()) return;
  throw base::Error(base::ErrorCode::Config,
                    "caches hold what never changes, but these options change pictures or captions while training; "
                    "take one of the two out:" +
                        problems);
}

}  // namespace cinnabar::data
