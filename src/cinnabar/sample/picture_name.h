// Names of new pictures in a folder that several programs may write to at once (no torch).
#pragma once

#include <filesystem>
#include <functional>

namespace cinnabar::sample {

// Calls `write` with `path`, or with "NAME_2.png", "NAME_3.png", ... where that is taken, and returns the path.
// Programs that write to the folder at one time take turns (a lock on the folder, gone with the process), so none
// replaces what another one made; on file systems without locks of folders a name may still be taken twice within
// milliseconds. Throws what `write` throws.
std::filesystem::path write_new_file(const std::filesystem::path& path,
                                     const std::function<void(const std::filesystem::path&)>& write);

}  // namespace cinnabar::sample
