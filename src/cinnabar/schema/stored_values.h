// Values that come from a file that this program wrote, and that somebody may have changed.
#pragma once

#include "cinnabar/schema/schema.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::schema {

// Types, ranges and choices of the options that `schema` has; others are passed over. Throws Error{Config} with a line
// a problem.
void check_stored_values(const Schema& schema, const Values& values);

}  // namespace cinnabar::schema
