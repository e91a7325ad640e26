// Where the CLIP merges list is found on this machine.
#pragma once

#include <filesystem>

namespace cinnabar::text {

// In this order: the file that CINNABAR_CLIP_BPE names; share/cinnabar/ beside the program's folder; .deps/clip/ of the
// checkout that holds the program. Throws Error{Io} that says how to get it.
std::filesystem::path find_merges_file();

}  // namespace cinnabar::text
