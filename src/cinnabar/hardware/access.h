// Which GPU can be used, which is taken when the user names none, and which mask makes the runtime agree.
#pragma once

#include "cinnabar/hardware/join.h"

namespace cinnabar::hardware {

// Sets is_masked, is_accessible, is_usable of every GPU, the default GPU, the mask and the backend.
void decide_access(Machine& machine, const Sources& sources, const Readings& readings);

// A discrete GPU of AMD that the runtime can see: what an integrated one must not be taken for.
bool has_discrete_amd(const Machine& machine);
// Whether capability notices are due: for every discrete GPU, and for integrated ones when there is no other.
bool is_of_interest(const Machine& machine, const Gpu& gpu);

// The GPU that libtorch numbers `index` after all masks; null when that cannot be told.
const Gpu* gpu_of_device(const Machine& machine, const Sources& sources, int64_t index);

}  // namespace cinnabar::hardware
