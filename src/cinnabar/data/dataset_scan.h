// From a description of a data set to its samples: lists, probes, captions and buckets, with everything that is wrong.
#pragma once

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

struct ScanOptions {
  size_t threads = 0;  // 0: as many as the machine has cores
};

// Reads every picture's header and caption file, several at a time; the result does not depend on the number of
// threads. Unreadable pictures are left out and reported. Nothing is thrown for what is on the disk; Error{Config} for
// options.
Dataset scan_dataset(const DatasetOptions& options, const ScanOptions& scan = {});

// Gives regularisation samples the repeats that make them as many as the others: one round of their own repeats in
// order, then rounds of one, until the number is reached. Those never reached get 0. No effect without regularisation
// samples.
void balance_regularisation(std::vector<Sample>& samples);

}  // namespace cinnabar::data
