// One list of GPUs out of what several sources say, joined by PCI address. sysfs wins over tools.
#pragma once

#include <vector>

#include "cinnabar/hardware/rocminfo.h"
#include "cinnabar/hardware/smi.h"
#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

struct Readings {
  Rocminfo rocminfo{};
  SmiReport amd_smi{};
  SmiReport rocm_smi{};
  SmiReport nvidia_smi{};
};

// NVIDIA first, then AMD in the order of the compute driver. Fills what the sources say and what follows from the chip;
// access and use are decided later.
std::vector<Gpu> join_gpus(const Sources& sources, const Readings& readings);

}  // namespace cinnabar::hardware
