// From options to what is done with pictures: masks and transparent parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// transparent_background: "white", "black", "grey", "#RRGGBB"; nothing for "keep". Throws Error{Config}.
std::optional<data::Colour> background_from(const std::string& text);
std::optional<data::Colour> background_of(const schema::Values& values);

// After the scan: finds mask pictures where masked_loss asks for them, and says which options have no effect with the
// data sets as they are. New findings are appended to the data sets' issues.
void prepare_pictures(const schema::Values& values, std::vector<data::Dataset>& datasets, base::EventSink& events);

}  // namespace cinnabar::train
