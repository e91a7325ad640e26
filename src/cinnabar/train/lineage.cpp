#include "cinnabar/train/lineage.h"

#include "cinnabar/base/input_event.h"
#include "cinnabar/base/sha256.h"

namespace cinnabar::train {

namespace fs = std::filesystem;

namespace {

// Lengths before texts, so that no caption can look like the next picture.
void add(base::Sha256& hash, const std::string& text) { hash.update(std::to_string(text.size()) + ":" + text + ";"); }

}  // namespace

std::vector<std::string> subset_hashes(const data::Dataset& dataset) {
  std::vector<base::Sha256> hashes(dataset.options.subsets.size());
  for (const data::Sample& sample : dataset.samples) {
    const fs::path& folder = dataset.options.subsets.at(sample.subset).image_dir;
    base::Sha256& hash = hashes[sample.subset];
    // The same pictures in another place are the same data set.
    add(hash, folder.empty() ? sample.path.string() : sample.path.lexically_relative(folder).string());
    std::error_code error;
    const auto size = fs::file_size(sample.path, error);
    add(hash, error ? "" : std::to_string(size));
    add(hash, sample.caption);
    add(hash, std::to_string(sample.repeats));
  }
  std::vector<std::string> texts;
  for (base::Sha256& hash : hashes) texts.push_back(hash.hex());
  return texts;
}

PictureHashes picture_hashes(const std::vector<data::Dataset>& datasets) {
  base::Sha256 pictures;
  base::Sha256 times;
  for (const data::Dataset& dataset : datasets) {
    for (const std::string& one : subset_hashes(dataset)) add(pictures, one);
    for (const data::Sample& sample : dataset.samples) {
      std::error_code error;
      const auto time = fs::last_write_time(sample.path, error);
      add(times, error ? "" : std::to_string(time.time_since_epoch().count()));
    }
  }
  return {.pictures = pictures.hex(), .times = times.hex()};
}

void tell_data_sets(base::EventSink& events, const std::vector<data::Dataset>& datasets) {
  for (const data::Dataset& dataset : datasets) {
    const std::vector<std::string> hashes = subset_hashes(dataset);
    std::vector<int64_t> counts(hashes.size());
    for (const data::Sample& sample : dataset.samples) ++counts[sample.subset];
    for (size_t i = 0; i < hashes.size(); ++i) {
      const data::SubsetOptions& subset = dataset.options.subsets[i];
      base::tell_input(events, {.kind = subset.is_reg ? "regularisation" : "data_set",
                                .path = subset.image_dir.empty() ? subset.metadata_file : subset.image_dir,
                                .sha256 = hashes[i],
                                .text = std::to_string(counts[i]) + " pictures; names, sizes, captions and repeats"});
    }
  }
}

}  // namespace cinnabar::train
