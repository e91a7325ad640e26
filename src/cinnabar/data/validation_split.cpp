#include "cinnabar/data/validation_split.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "cinnabar/base/random_stream.h"
#include "cinnabar/data/dataset_scan.h"

namespace cinnabar::data {

namespace {

// Indices of the samples that are held out of one subset.
std::vector<size_t> held_out(const Dataset& dataset, size_t subset, double share, base::RandomStream random) {
  std::vector<size_t> all;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    if (dataset.samples[i].subset == subset && !dataset.samples[i].is_reg) all.push_back(i);
  }
  random.shuffle(std::span(all));
  // The tolerance keeps shares such as 0.3 of 10, whose product is a rounding below 3.
  const auto count = static_cast<size_t>(std::floor(static_cast<double>(all.size()) * share + 1e-9));
  all.resize(std::min(count, all.size()));
  return all;
}

void without_dropouts(Dataset& dataset) {
  for (SubsetOptions& subset : dataset.options.subsets) {
    subset.num_repeats = 1;
    subset.caption.caption_dropout_rate = 0.0;
    subset.caption.caption_tag_dropout_rate = 0.0;
    subset.caption.caption_dropout_every_n_epochs = 0;
    subset.caption.token_warmup_step = 0.0;
  }
}

// The same folder at several sizes stands in several data sets. Their parts are chosen alike, so the key of the stream
// does not know the data set.
Dataset take(Dataset& dataset, uint64_t seed) {
  const uint64_t own_seed =
      dataset.options.validation_seed ? static_cast<uint64_t>(*dataset.options.validation_seed) : seed;
  std::set<size_t> chosen;
  for (size_t subset = 0; subset < dataset.options.subsets.size(); ++subset) {
    const base::RandomStream random(own_seed, base::Purpose::Validation, 0, subset);
    for (const size_t index : held_out(dataset, subset, dataset.options.validation_split, random)) chosen.insert(index);
  }
  Dataset taken{.options = dataset.options};
  without_dropouts(taken);
  std::vector<Sample> rest;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    (chosen.contains(i) ? taken.samples : rest).push_back(std::move(dataset.samples[i]));
  }
  for (Sample& sample : taken.samples) sample.repeats = 1;
  dataset.samples = std::move(rest);
  if (!chosen.empty()) balance_regularisation(dataset);
  return taken;
}

// What is held out of one data set is trained in none.
void leave_out_of_training(std::vector<Dataset>& datasets, const std::vector<Dataset>& held) {
  std::set<std::filesystem::path> paths;
  for (const Dataset& dataset : held) {
    for (const Sample& sample : dataset.samples) paths.insert(sample.path);
  }
  for (Dataset& dataset : datasets) {
    std::vector<size_t> indices;
    for (size_t i = 0; i < dataset.samples.size(); ++i) {
      if (!dataset.samples[i].is_reg && paths.contains(dataset.samples[i].path)) indices.push_back(i);
    }
    if (!indices.empty()) remove_samples(dataset, indices);
  }
}

}  // namespace

std::vector<Dataset> take_validation(std::vector<Dataset>& datasets, uint64_t seed) {
  std::vector<Dataset> result;
  for (size_t i = 0; i < datasets.size(); ++i) {
    if (datasets[i].options.validation_split <= 0.0) continue;
    Dataset taken = take(datasets[i], seed);
    if (!taken.samples.empty()) result.push_back(std::move(taken));
  }
  leave_out_of_training(datasets, result);
  return result;
}

}  // namespace cinnabar::data
