// --auto: settings that fit the machine, for what the user left open.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/hardware/machine.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::jobs {

// Sets the options of hardware::advised_options() that were not given and that the rest of the configuration allows.
// Returns a sentence for each, with its reason, and one for each that was left as it is. Does nothing, and returns
// nothing, without the option `auto`.
std::vector<std::string> apply_auto(const schema::Schema& schema, const hardware::Machine& machine,
                                    schema::Config& config);

// This machine with the libtorch of the folder, as apply_auto wants it.
hardware::Machine machine_with(const std::filesystem::path& torch);

}  // namespace cinnabar::jobs
