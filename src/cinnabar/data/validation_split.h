// Pictures that are held out of the training, to measure the loss on what the model has not seen.
#pragma once

#include <cstdint>
#include <vector>

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// Moves the share DatasetOptions::validation_split of each subset's pictures, rounded down, out of `datasets` into data
// sets of their own, which are returned in the same order (without those that would be empty). Which ones: a shuffle
// by validation_seed, or `seed` without one; the two parts have no picture in common. Regularisation pictures stay, and
// are balanced anew against what remains. In the returned sets every picture counts once and captions have no dropout.
std::vector<Dataset> take_validation(std::vector<Dataset>& datasets, uint64_t seed);

}  // namespace cinnabar::data
