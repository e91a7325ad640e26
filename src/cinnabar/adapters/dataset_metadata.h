// The part of a file's metadata that describes the data set.
#pragma once

#include "cinnabar/adapters/metadata.h"

namespace cinnabar::adapters {

// Folder mode: ss_resolution, ss_dataset_dirs, ss_bucket_info and the like; with a data set description: ss_datasets.
// Both have ss_tag_frequency and ss_dataset_dirs. No paths, only base names.
Metadata dataset_metadata(const TrainingFacts& facts, const schema::Values& values);

}  // namespace cinnabar::adapters
