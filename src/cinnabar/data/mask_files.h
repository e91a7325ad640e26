// Mask pictures of masked_loss: a file of the same name for each picture, in a folder of their own.
#pragma once

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// Fills Sample::mask from the conditioning_data_dir of each subset that has one and does not hold regularisation
// pictures: the file of the same name, whatever
// its extension (the first by name), in that folder or, for several subsets, in a sub-folder of the subset's name.
// Pictures without a mask, or with one of another shape, leave the data set with an Issue; masks without a picture are
// listed. A folder that is missing, or in which nothing fits, is an Issue of severity Error. Returns the new issues,
// which are also in `dataset`.
std::vector<Issue> find_masks(Dataset& dataset);

}  // namespace cinnabar::data
