// The name by which a run is known everywhere: in its record, in the store of runs, in the states that it saves.
#pragma once

#include <string>

namespace cinnabar::base {

// 16 hex digits. They follow from the name of the run's folder, so that they are the same whenever they are asked for.
std::string run_id(const std::string& folder_name);

}  // namespace cinnabar::base
