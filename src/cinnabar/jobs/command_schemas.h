// The complete schemas of the commands that start a worker: core rows with those of the registries.
#pragma once

#include <string>

#include "cinnabar/schema/schema.h"

namespace cinnabar::jobs {

schema::Schema train_schema();
schema::Schema sample_schema();
schema::Schema cache_schema();

}  // namespace cinnabar::jobs
