#include "cinnabar/train/run_data.h"

#include <algorithm>
#include <cmath>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/batch_plan.h"
#include "cinnabar/data/dataset_settings.h"
#include "cinnabar/data/described_data.h"
#include "cinnabar/data/health_report.h"
#include "cinnabar/data/picture.h"
#include "cinnabar/data/preview_pictures.h"
#include "cinnabar/data/weighted_captions.h"
#include "cinnabar/train/lineage.h"
#include "cinnabar/train/picture_options.h"

namespace cinnabar::train {

namespace {

std::string filter_name(data::Interpolation filter) {
  switch (filter) {
    case data::Interpolation::Area:
      return "area";
    case data::Interpolation::Lanczos:
      return "lanczos";
    case data::Interpolation::Box:
      return "box";
    case data::Interpolation::Bilinear:
      return "bilinear";
    case data::Interpolation::Bicubic:
      return "bicubic";
    case data::Interpolation::Nearest:
      return "nearest";
  }
  return {};
}

// Why a picture cannot be decoded, or "".
std::string decode_failure(const std::filesystem::path& path, bool is_strict) {
  try {
    (void)data::load_picture(path, {.is_strict = is_strict});
    return {};
  } catch (const base::Error& error) {
    return error.message();
  }
}

// Short for people, whole for programs: the run's folder gets every finding.
void report(const std::vector<data::Dataset>& datasets, const schema::Values& values, base::EventSink& events) {
  std::string errors;
  for (const data::ReportLine& line : data::report_lines(datasets)) {
    if (line.severity == data::Severity::Error) errors += "\n  " + line.text;
    if (line.severity == data::Severity::Warning) events.warning(line.text);
    if (line.severity == data::Severity::Info) events.log(line.text);
  }
  const data::HealthCounts counts = data::health_counts(datasets);
  events.log(data::summary_text(counts));
  write_dataset_report(datasets, values);
  if (!errors.empty()) throw base::Error(base::ErrorCode::Data, "the data set cannot be used:" + errors);
  if (values.flag("strict") && counts.left_out > 0) {
    throw base::Error(
        base::ErrorCode::Data,
        "strict: the scan left " + std::to_string(counts.left_out) +
            " things out (named above and in dataset_report.json); mend or remove them, or leave strict out");
  }
}

schema::Values subset_values(const data::DatasetOptions& dataset, const data::SubsetOptions& subset) {
  schema::Values values;
  const data::CaptionOptions& caption = subset.caption;
  values.set("color_aug", subset.color_aug);
  values.set("flip_aug", subset.flip_aug);
  values.set("random_crop", subset.random_crop);
  values.set("shuffle_caption", caption.shuffle_caption);
  values.set("keep_tokens", caption.keep_tokens);
  values.set("keep_tokens_separator", caption.keep_tokens_separator);
  values.set("enable_wildcard", caption.enable_wildcard);
  const auto set_text = [&](const char* name, const std::string& text) {
    if (!text.empty()) values.set(name, text);
  };
  set_text("secondary_separator", caption.secondary_separator);
  set_text("caption_prefix", caption.caption_prefix);
  set_text("caption_suffix", caption.caption_suffix);
  const auto filter = subset.resize_interpolation ? subset.resize_interpolation : dataset.resize_interpolation;
  if (filter) set_text("resize_interpolation", filter_name(*filter));
  return values;
}

}  // namespace

void write_dataset_report(const std::vector<data::Dataset>& datasets, const schema::Values& values) {
  const auto folder = values.maybe_text(kRunFolder);
  if (!folder) return;
  base::write_file(std::filesystem::path(*folder) / "dataset_report.json", data::health_json(datasets));
}

data::Size size_of(const std::string& text) { return data::size_from(text); }

std::vector<data::Dataset> scan_run_data(const schema::Values& values, base::EventSink& events) {
  data::DescribedData description = data::described_data(values);
  for (const std::string& notice : description.notices) events.warning(notice);
  for (data::DatasetOptions& options : description.datasets) options.background = background_of(values);
  data::ScanOptions scan;
  scan.decodes_all = values.flag("strict");
  scan.decode_failure = [is_strict = scan.decodes_all](const std::filesystem::path& path) {
    return decode_failure(path, is_strict);
  };
  scan.index_folder = data::scan_index_folder();
  scan.progress = [&](int64_t done, int64_t total) {
    events.progress({.phase = "scan", .step = done, .total = total});
  };
  std::vector<data::Dataset> datasets = data::scan_data(description, scan);
  prepare_pictures(values, datasets, events);
  if (values.flag("weighted_captions")) std::ranges::for_each(datasets, data::check_weighted_captions);
  if (values.has("sample_prompts")) data::report_preview_place(datasets, values.maybe_text("output_dir").value_or("."));
  report(datasets, values, events);
  tell_data_sets(events, datasets);
  for (size_t i = 0; i < datasets.size(); ++i) {
    const std::string place = datasets.size() == 1 ? "" : "data set " + std::to_string(i + 1) + ": ";
    for (const data::BucketCount& bucket : data::bucket_counts(datasets[i])) {
      events.log(place + "bucket " + data::to_string(bucket.size) + ": " + std::to_string(bucket.items) +
                 " pictures with repeats");
    }
  }
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
  if (options.resize_interpolation) facts.resize_interpolation = filter_name(*options.resize_interpolation);
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
    // Of regularisation pictures all repeats are named, not those that an epoch has room for: as sd-scripts.
    if (sample.is_reg) {
      facts.regularisation_images += options.subsets.at(sample.subset).num_repeats;
    } else {
      facts.train_images += sample.repeats;
    }
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
    one.options = subset_values(options, subset);
    facts.subsets.push_back(std::move(one));
  }
  return facts;
}

}  // namespace cinnabar::train
