// What can be found wrong before anything is cached: caching takes minutes to hours, and these checks take none.
#pragma once

#include <cstdint>

#include "cinnabar/optim/flat_parameters.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// Makes output_dir and logging_dir and writes a page to each, looks at what stands under the names of saved files and
// states, and reads metadata_thumbnail. Throws Error{Io} or Error{OutOfSpace} that names option and folder,
// Error{Denied} for a name that is somebody else's, or what the picture is refused with.
void check_folders(const schema::Values& values);

// Makes optimizer and schedule once for tiny stand-ins of the groups of `parameters`. Throws Error{Config} for wrong
// arguments. `total_steps` may still change by pictures that cannot be cached.
void check_optimizer(const schema::Values& values, const optim::FlatParameters& parameters, int64_t total_steps);

}  // namespace cinnabar::train
