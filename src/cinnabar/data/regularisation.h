// Regularisation pictures: as many in an epoch as there are others, and over the epochs all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// Gives regularisation samples the repeats that make them as many as the others: one round of their own repeats in
// order, then rounds of one, until the number is reached. Those never reached get 0. No effect without regularisation
// samples. This is sd-scripts' rule, and that of the first epoch.
void balance_regularisation(std::vector<Sample>& samples);
// The same from the subsets' own repeats, whatever was there before: after samples came or went.
void balance_regularisation(Dataset& dataset);

// Occurrences of every sample in an epoch (from 1). Those of training pictures never change. Regularisation pictures
// go round: the first epoch takes them as above; each later one goes on where the last one ended, with the pictures
// that the first epoch did not reach in an order by seed. sd-scripts trains the first ones again and again.
std::vector<int64_t> repeats_in_epoch(const Dataset& dataset, uint64_t seed, uint64_t epoch);

// Whether some epoch differs from the first.
bool rotates(const Dataset& dataset);

struct RegularisationCount {
  int64_t pictures = 0;   // of regularisation
  int64_t available = 0;  // their repeats
  int64_t wanted = 0;     // repeats of training pictures
  int64_t used = 0;       // in the first epoch
};
RegularisationCount regularisation_count(const Dataset& dataset);

}  // namespace cinnabar::data
