// A file in memory with a path, for readers that open files themselves.
#pragma once

#include <filesystem>

#include "fuzz/fuzz_target.h"

namespace cinnabar::fuzz {

// The path of one file of this process that holds `content` until the next call. Throws std::runtime_error.
std::filesystem::path memory_file(Input content);

}  // namespace cinnabar::fuzz
