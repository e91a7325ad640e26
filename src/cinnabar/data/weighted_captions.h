// Captions with weights ("(word:1.3)", option weighted_captions) that cannot be read.
#pragma once

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// Adds an Issue for each such caption; training takes its words without weights.
void check_weighted_captions(Dataset& dataset);

}  // namespace cinnabar::data
