// When an option counts: clauses of `shown_if` rows, as "loss_type in huber, smooth_l1" or "ema or dataset_config".
#pragma once

#include <string>
#include <vector>

#include "cinnabar/schema/values.h"

namespace cinnabar::schema {

// One option that must be on, or have one of `values` (none: any that is neither off, 0 nor empty).
struct Clause {
  std::string option;
  std::vector<std::string> values{};
};

// Written as NAME, NAME > 0 (the same), NAME == VALUE or NAME in VALUE, VALUE; several are joined with " or ", and one
// of them is enough. Error{Internal} for anything else.
std::vector<Clause> parse_condition(const std::string& condition);

// Neither empty, false, 0 nor "none".
bool is_on(const Value& value);

bool holds(const std::vector<Clause>& condition, const Values& values);

// For messages: "loss_type = huber or smooth_l1", "ema or dataset_config".
std::string condition_text(const std::vector<Clause>& condition);

}  // namespace cinnabar::schema
