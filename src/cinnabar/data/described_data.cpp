#include "cinnabar/data/described_data.h"

#include "cinnabar/base/error.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/base/user_cache.h"
#include "cinnabar/data/dataset_file.h"
#include "cinnabar/data/dataset_settings.h"
#include "cinnabar/data/folder_dataset.h"

namespace cinnabar::data {

namespace {

constexpr const char* kEmbeddedPictures = "embedded/pictures";

DescribedData from_file(const std::string& path, const schema::Values& values) {
  DescribedData description;
  DatasetFile file = read_dataset_file(path, values);
  description.datasets = std::move(file.datasets);
  description.notices = std::move(file.notices);
  for (const char* name : {"train_data_dir", "reg_data_dir", "conditioning_data_dir"}) {
    if (!values.has(name)) continue;
    description.notices.push_back(std::string(name) + " is not used: dataset_config describes the data.");
  }
  return description;
}

DescribedData from_folders(const schema::Values& values) {
  DescribedData description;
  const DatasetSettings settings = settings_from(values);
  DatasetOptions dataset = settings.dataset;
  for (const bool is_reg : {false, true}) {
    const auto folder = values.maybe_text(is_reg ? "reg_data_dir" : "train_data_dir");
    if (!folder) continue;
    SubsetOptions defaults = settings.subset;
    defaults.is_reg = is_reg;
    const auto masks = values.maybe_text("conditioning_data_dir");
    if (!is_reg && masks && values.flag("masked_loss")) {
      defaults.conditioning_data_dir = base::resolved(*masks, kEmbeddedPictures);
    }
    const std::filesystem::path place = path_as_written(base::resolved(*folder, kEmbeddedPictures));
    for (auto& subset : subsets_of_folder(place, defaults, description.issues)) {
      dataset.subsets.push_back(std::move(subset));
    }
  }
  description.datasets.push_back(std::move(dataset));
  return description;
}

}  // namespace

DescribedData described_data(const schema::Values& values) {
  const auto file = values.maybe_text("dataset_config");
  DescribedData description = file ? from_file(*file, values) : from_folders(values);
  check_caches(values, description.datasets);
  return description;
}

std::vector<Dataset> scan_data(const DescribedData& description, const ScanOptions& scan) {
  std::vector<Dataset> datasets;
  for (const DatasetOptions& options : description.datasets) datasets.push_back(scan_dataset(options, scan));
  if (datasets.empty()) return datasets;
  std::vector<Issue>& first = datasets.front().issues;
  first.insert(first.begin(), description.issues.begin(), description.issues.end());
  return datasets;
}

std::filesystem::path scan_index_folder() {
  const std::filesystem::path folder = base::user_cache_folder();
  return folder.empty() ? folder : folder / "pictures";
}

std::filesystem::path cache_folder(const schema::Values& values, const std::vector<Dataset>& datasets) {
  constexpr const char* kName = ".cinnabar-cache";
  const auto folder = values.maybe_text("train_data_dir");
  if (folder && !values.has("dataset_config")) return base::resolved(*folder, kEmbeddedPictures) / kName;
  if (datasets.empty() || datasets.front().options.subsets.empty()) {
    throw base::Error(base::ErrorCode::Config, "no place for caches: no data set names a folder");
  }
  return datasets.front().options.subsets.front().image_dir / kName;
}

}  // namespace cinnabar::data
