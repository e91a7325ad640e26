// Repeats, bucket counts, batches and steps against sd-scripts' DreamBoothDataset.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/data/batch_plan.h"
#include "cinnabar/data/regularisation.h"
#include "cinnabar/plan/steps.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using nlohmann::json;

data::Size size_of(const json& pair) { return {pair.at(0).get<int64_t>(), pair.at(1).get<int64_t>()}; }

std::string picture_name(size_t index) {
  const std::string number = std::to_string(index);
  return std::string(3 - std::min<size_t>(3, number.size()), '0') + number + ".png";
}

// The data set as a scan would leave it, without files. Bucket options are the reference's defaults unless the case
// names them.
data::Dataset dataset_of(const json& one) {
  data::Dataset dataset;
  dataset.options.batch_size = one.at("batch_size").get<int64_t>();
  data::BucketOptions& bucket = dataset.options.bucket;
  bucket.resolution = size_of(one.at("resolution"));
  bucket.enable_bucket = one.value("enable_bucket", true);
  bucket.bucket_no_upscale = one.value("bucket_no_upscale", false);
  bucket.min_bucket_reso = one.value("min_bucket_reso", int64_t{256});
  bucket.max_bucket_reso = one.value("max_bucket_reso", int64_t{1024});
  bucket.bucket_reso_steps = one.value("bucket_reso_steps", int64_t{64});
  const data::BucketRule rule(bucket);
  for (const json& subset : one.at("subsets")) {
    const size_t index = dataset.options.subsets.size();
    dataset.options.subsets.push_back(
        {.is_reg = subset.at("is_reg").get<bool>(), .num_repeats = subset.at("num_repeats").get<int64_t>()});
    size_t number = 0;
    for (const json& image : subset.at("images")) {
      dataset.samples.push_back({.path = picture_name(number++),
                                 .size = size_of(image),
                                 .bucket = rule.choose(size_of(image)),
                                 .repeats = dataset.options.subsets.back().num_repeats,
                                 .is_reg = dataset.options.subsets.back().is_reg,
                                 .subset = index});
    }
  }
  data::balance_regularisation(dataset.samples);
  std::erase_if(dataset.samples, [](const data::Sample& sample) { return sample.repeats == 0; });
  return dataset;
}

double differs(int64_t ours, const json& expected) {
  return std::abs(static_cast<double>(ours) - expected.get<double>());
}

// Names repeat over several regularisation subsets, so those are compared by their sum.
double reg_difference(const data::Dataset& dataset, const json& expected) {
  std::map<std::string, int64_t> ours;
  for (const data::Sample& sample : dataset.samples) {
    if (sample.is_reg) ours[sample.path.string()] += sample.repeats;
  }
  if (ours.size() != expected.size()) return INFINITY;
  double largest = 0.0;
  for (const auto& [name, repeats] : ours) {
    largest = std::max(largest, expected.contains(name) ? differs(repeats, expected.at(name)) : INFINITY);
  }
  return largest;
}

double bucket_difference(const data::Dataset& dataset, const json& expected) {
  const std::vector<data::BucketCount> ours = data::bucket_counts(dataset);
  if (ours.size() != expected.size()) return INFINITY;
  double largest = 0.0;
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].size != size_of(expected[i].at(0))) return INFINITY;
    largest = std::max(largest, differs(ours[i].items, expected[i].at(1)));
  }
  return largest;
}

void steps(const std::filesystem::path& folder, Reporter& reporter) {
  const json cases = json::parse(base::read_file(folder / "steps.json"));
  for (size_t i = 0; i < cases.size(); ++i) {
    const json& one = cases[i];
    const std::string name = "steps." + std::to_string(i);
    const std::vector<data::Dataset> datasets = {dataset_of(one)};
    reporter.result(name + ".reg_repeats", reg_difference(datasets.front(), one.at("reg_repeats")), 0.0);
    reporter.result(name + ".images_with_repeats",
                    differs(datasets.front().item_count(), one.at("images_with_repeats")), 0.0);
    reporter.result(name + ".buckets", bucket_difference(datasets.front(), one.at("buckets")), 0.0);
    const int64_t batches = data::batch_count(datasets);
    const auto planned = static_cast<int64_t>(data::plan_epoch(datasets, 1, 1).size());
    reporter.result(
        name + ".batches_per_epoch",
        std::max(differs(batches, one.at("batches_per_epoch")), differs(planned, one.at("batches_per_epoch"))), 0.0);
    plan::StepOptions options{.batches_per_epoch = batches,
                              .gradient_accumulation_steps = one.at("gradient_accumulation_steps").get<int64_t>(),
                              .max_train_epochs = one.at("max_train_epochs").get<int64_t>()};
    const plan::StepPlan by_epochs = plan::plan_steps(options);
    options.max_train_epochs.reset();
    options.max_train_steps = 1000;
    reporter.result(name + ".steps_per_epoch", differs(by_epochs.steps_per_epoch, one.at("steps_per_epoch")), 0.0);
    reporter.result(name + ".max_train_steps", differs(by_epochs.max_train_steps, one.at("max_train_steps")), 0.0);
    reporter.result(name + ".epochs_for_1000_steps",
                    differs(plan::plan_steps(options).epochs, one.at("epochs_for_1000_steps")), 0.0);
  }
}

CINNABAR_PARITY_GROUP(data_steps, "data.steps", steps);

}  // namespace
}  // namespace cinnabar::parity
