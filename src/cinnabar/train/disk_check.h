// Whether the files of a run will fit on the disk, asked before the training starts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace cinnabar::train {

struct SaveSizes {
  int64_t network_bytes = 0;  // one network file
  int64_t state_bytes = 0;    // one state folder; 0 when none are saved
};

// Throws Error{OutOfSpace} with the numbers when `folder` has not room for two saves and a tenth more: the older one is
// only removed once the new one is complete. A file system that does not say how much is free counts as having room.
void check_space(const std::filesystem::path& folder, const SaveSizes& sizes);

// "1.5 GB".
std::string bytes_text(int64_t bytes);

}  // namespace cinnabar::train
