// Which libtorch a folder holds: version, ROCm or CUDA, and the chips that it has kernels for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/hardware/machine.h"

namespace cinnabar::hardware {

// From version.py and the names of the kernel libraries beside libtorch; nothing is loaded. A folder without libtorch
// gives is_present = false.
Libtorch read_libtorch(const std::filesystem::path& folder);

// Architectures of the public builds for a ROCm ("7.2") or CUDA ("13.0") version, where the folder does not tell.
std::vector<std::string> usual_rocm_archs(const std::string& hip);
std::vector<std::string> usual_cuda_archs(const std::string& cuda);

}  // namespace cinnabar::hardware
