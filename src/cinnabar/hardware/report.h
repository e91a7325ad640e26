// What doctor says: as JSON for programs, as text for people.
#pragma once

#include <string>

#include "cinnabar/hardware/machine.h"

namespace cinnabar::hardware {

// Schema 1 of docs/doctor.md. With `details` also processor, memory, environment, advice, and the words of each
// problem.
std::string report_json(const Machine& machine, bool with_details = false);
std::string report_text(const Machine& machine);

}  // namespace cinnabar::hardware
