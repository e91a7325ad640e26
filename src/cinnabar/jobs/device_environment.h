// Variables of the engine's process that the GPU of this machine needs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cinnabar::jobs {

// Adds the safe values of hardware/environment.h to `environment` (NAME=VALUE) for a libtorch folder with a GPU build;
// what the user set stays. Without a GPU build nothing changes. Makes the folders that it names.
void add_device_settings(std::vector<std::string>& environment, const std::filesystem::path& torch);

// Where compiled kernels are kept: $XDG_CACHE_HOME/cinnabar or ~/.cache/cinnabar.
std::filesystem::path cache_folder();

}  // namespace cinnabar::jobs
