// The data sets of a run as its options describe them: a data set file, or the folders of pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/data/dataset_scan.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::data {

struct DescribedData {
  std::vector<DatasetOptions> datasets;
  std::vector<Issue> issues;         // of the folders
  std::vector<std::string> notices;  // sentences for the user
};

// Reads dataset_config, or else looks at train_data_dir and reg_data_dir ("embedded" stands for the program's own
// pictures). Throws Error{Io}, Error{Config}.
DescribedData described_data(const schema::Values& values);

// Scans all of them. Issues of the folders come first, in the first data set.
std::vector<Dataset> scan_data(const DescribedData& description, const ScanOptions& scan);

// Where scans keep what they found out for the next one (ScanOptions::index_folder): in the user's cache folder; empty
// when there is none.
std::filesystem::path scan_index_folder();

// Where caches of this data lie on disk: .cinnabar-cache in train_data_dir, or in the first folder of a data set file.
std::filesystem::path cache_folder(const schema::Values& values, const std::vector<Dataset>& datasets);

}  // namespace cinnabar::data
