#include "cinnabar/train/run_data.h"

#include <algorithm>
#include <cmath>

#include "cinnabar/base/error.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/data/batch_plan.h"
#include "cinnabar/data/dataset_scan.h"
#include "cinnabar/data/folder_dataset.h"

namespace cinnabar::train {

namespace {

data::CaptionOptions caption_options(const schema::Values& values) {
  data::CaptionOptions options;
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
  return options;
}

data::DatasetOptions dataset_options(const schema::Values& values, std::vector<std::string>& notes) {
  data::DatasetOptions options;
  options.bucket.resolution = size_of(values.maybe_text("resolution").value_or("512"));
  options.bucket.enable_bucket = values.flag("enable_bucket");
  options.bucket.bucket_no_upscale = values.flag("bucket_no_upscale");
  options.bucket.min_bucket_reso = values.maybe_integer("min_bucket_reso").value_or(256);
  options.bucket.max_bucket_reso = values.maybe_integer("max_bucket_reso").value_or(1024);
  options.bucket.bucket_reso_steps = values.maybe_integer("bucket_reso_steps").value_or(64);
  options.bucket = data::prepared(options.bucket, notes);
  options.batch_size = values.maybe_integer("train_batch_size").value_or(1);
  if (const auto name = values.maybe_text("resize_interpolation")) {
    options.resize_interpolation = data::interpolation_from(*name);
  }
  return options;
}

void report(const data::Dataset& dataset, base::EventSink& events, std::string& errors) {
  for (const data::Issue& issue : dataset.issues) {
    const std::string text =
        issue.path.string() + ": " + issue.message + (issue.action.empty() ? "" : "; " + issue.action);
    if (issue.severity == data::Severity::Error) errors += "\n  " + text;
    if (issue.severity == data::Severity::Warning) events.warning(text);
    if (issue.severity == data::Severity::Info) events.log(text);
  }
}

}  // namespace

data::Size size_of(const std::string& text) {
  const size_t comma = text.find(',');
  const int64_t width = std::stoll(text.substr(0, comma));
  return {width, comma == std::string::npos ? width : std::stoll(text.substr(comma + 1))};
}

std::vector<data::Dataset> scan_run_data(const schema::Values& values, base::EventSink& events) {
  std::vector<std::string> notes;
  data::DatasetOptions options = dataset_options(values, notes);
  for (const std::string& note : notes) events.warning(note);
  data::SubsetOptions defaults;
  defaults.caption = caption_options(values);
  defaults.caption_extension = values.maybe_text("caption_extension");
  defaults.flip_aug = values.flag("flip_aug");
  std::vector<data::Issue> issues;
  for (const bool is_reg : {false, true}) {
    const auto folder = values.maybe_text(is_reg ? "reg_data_dir" : "train_data_dir");
    if (!folder) continue;
    defaults.is_reg = is_reg;
    for (auto& subset : data::subsets_of_folder(base::resolved(*folder, "embedded/pictures"), defaults, issues)) {
      options.subsets.push_back(std::move(subset));
    }
  }
  data::Dataset dataset = data::scan_dataset(options);
  dataset.issues.insert(dataset.issues.begin(), issues.begin(), issues.end());
  std::string errors;
  report(dataset, events, errors);
  if (!errors.empty()) throw base::Error(base::ErrorCode::Data, "the data set cannot be used:" + errors);
  events.log("Found " + std::to_string(dataset.samples.size()) + " pictures, " + std::to_string(dataset.item_count()) +
             " with repeats.");
  for (const data::BucketCount& bucket : data::bucket_counts(dataset)) {
    events.log("bucket " + data::to_string(bucket.size) + ": " + std::to_string(bucket.items) +
               " pictures with repeats");
  }
  std::vector<data::Dataset> datasets;
  datasets.push_back(std::move(dataset));
  return datasets;
}

adapters::DatasetFacts facts_of(const data::Dataset& dataset) {
  const data::DatasetOptions& options = dataset.options;
  adapters::DatasetFacts facts;
  facts.batch_size = options.batch_size;
  facts.width_px = options.bucket.resolution.width;
  facts.height_px = options.bucket.resolution.height;
  facts.enable_bucket = options.bucket.enable_bucket;
  facts.bucket_no_upscale = options.bucket.bucket_no_upscale;
  facts.min_bucket_reso = options.bucket.min_bucket_reso;
  facts.max_bucket_reso = options.bucket.max_bucket_reso;
  for (const data::BucketCount& bucket : data::bucket_counts(dataset)) {
    facts.buckets.push_back({bucket.size.width, bucket.size.height, bucket.items});
  }
  double error_sum = 0.0;
  std::vector<std::vector<std::string>> captions(options.subsets.size());
  std::vector<int64_t> counts(options.subsets.size());
  for (const data::Sample& sample : dataset.samples) {
    error_sum += std::abs(sample.bucket.aspect_error);
    captions[sample.subset].push_back(sample.caption);
    ++counts[sample.subset];
    (sample.is_reg ? facts.regularisation_images : facts.train_images) += sample.repeats;
  }
  facts.mean_aspect_error = error_sum / static_cast<double>(std::max<size_t>(1, dataset.samples.size()));
  for (size_t i = 0; i < options.subsets.size(); ++i) {
    const data::SubsetOptions& subset = options.subsets[i];
    adapters::SubsetFacts one;
    one.name = subset.image_dir.filename().string();
    one.repeats = subset.num_repeats;
    one.image_count = counts[i];
    one.is_regularisation = subset.is_reg;
    if (!subset.class_tokens.empty()) one.class_tokens = subset.class_tokens;
    one.tags = adapters::count_tags(captions[i]);
    facts.subsets.push_back(std::move(one));
  }
  return facts;
}

}  // namespace cinnabar::train
