// Data sets described by a file: sd-scripts' data set configuration in TOML, or JSON of the same structure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/data/config_tree.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/schema/problem.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::data {

struct DatasetFile {
  std::vector<DatasetOptions> datasets;
  std::vector<std::string> notices;  // sentences for the user
};

// `values` are the run's options: they hold where the file says nothing (subset over data set over [general] over
// command line over default). Relative folders are those of the working directory, or else of the file. Throws
// Error{Io}, and Error{Config} that names everything that is wrong, with file, line and table.
DatasetFile read_dataset_file(const std::filesystem::path& path, const schema::Values& values);

// The same for a file that was read; what is wrong goes to `problems`. `folder` is where the file lies.
DatasetFile datasets_from_tree(const ConfigTree& tree, const std::filesystem::path& folder,
                               const schema::Values& values, schema::Problems& problems);

}  // namespace cinnabar::data
