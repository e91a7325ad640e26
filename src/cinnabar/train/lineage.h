// What a run is made from, told as `input` events: its model and its data set, with hashes by which runs are compared.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/data/dataset.h"

namespace cinnabar::train {

// One event a folder of pictures. The hash is over the names, sizes, captions and repeats of its pictures, in order: it
// costs no reading of pictures, and changes when pictures or captions come, go or change (but for a picture that is
// replaced by another one of the same size in bytes).
void tell_data_sets(base::EventSink& events, const std::vector<data::Dataset>& datasets);

// Of all pictures, in order: of what subset_hashes is about, and of when their files were written. The second changes
// when one is replaced by another of the same size, and when all are copied.
struct PictureHashes {
  std::string pictures;
  std::string times;
};
PictureHashes picture_hashes(const std::vector<data::Dataset>& datasets);

// One hash for each subset.
std::vector<std::string> subset_hashes(const data::Dataset& dataset);

}  // namespace cinnabar::train
