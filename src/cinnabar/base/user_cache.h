// The user's folder for what saves time and can be made again.
#pragma once

#include <filesystem>

namespace cinnabar::base {

// $XDG_CACHE_HOME/cinnabar, or ~/.cache/cinnabar; made when it is missing. Empty when there is no such place, or it
// cannot be made: then nothing is remembered.
std::filesystem::path user_cache_folder();

}  // namespace cinnabar::base
