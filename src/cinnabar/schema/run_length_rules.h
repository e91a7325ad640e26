// How long a run is when several places say so: max_train_steps, max_train_epochs, and the epochs of a kohya_ss JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cinnabar/schema/source.h"

namespace cinnabar::schema {

// `given` is what the merged `sources` (ascending precedence) say; the losing option is taken out of it, and steps that
// the GUI would count are put in. Returns a sentence for each decision. Epochs win on one level, as in sd-scripts.
std::vector<std::string> settle_length(const Schema& schema, const std::vector<Source>& sources,
                                       std::map<std::string, Given>& given);

}  // namespace cinnabar::schema
