// Data set options as the command line gives them: what a data set file or a folder begins with.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/data/dataset.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::data {

// The options of one place in a data set file: both kinds, since a key of a subset may stand in its data set, or for
// all. `dataset.subsets` stays empty.
struct DatasetSettings {
  DatasetOptions dataset;
  SubsetOptions subset;
};

// From validated options of a run. Throws Error{Config} for a value that no row has checked.
DatasetSettings settings_from(const schema::Values& values);

// "512" or "512,768".
Size size_from(const std::string& text);

// Throws Error{Config} that names subsets and options when latents or text states are cached and an option changes
// pictures or captions while training.
void check_caches(const schema::Values& values, const std::vector<DatasetOptions>& datasets);

}  // namespace cinnabar::data
