// What is wrong or worth knowing on a machine, each with a code of docs/doctor.md.
#pragma once

#include "cinnabar/hardware/join.h"

namespace cinnabar::hardware {

std::vector<Warning> find_warnings(const Machine& machine, const Sources& sources, const Readings& readings);

// Whether training cannot work on what the user has, or a GPU is here and cannot be used. An integrated GPU in first
// place is no such case: the engine gets a mask.
bool is_blocked(const Machine& machine);

}  // namespace cinnabar::hardware
