// The system around the GPUs: driver, ROCm, container, WSL; processor and memory with the limits of control groups.
#pragma once

#include "cinnabar/hardware/smi.h"
#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

Platform read_platform(const Sources& sources, const SmiReport& amd_smi);
Host read_host(const FileTree& files);

}  // namespace cinnabar::hardware
