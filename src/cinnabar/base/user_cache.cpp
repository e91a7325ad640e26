#include "cinnabar/base/user_cache.h"

#include <cstdlib>

namespace cinnabar::base {

std::filesystem::path user_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (cache != nullptr && *cache == '/') {
    folder = std::filesystem::path(cache) / "cinnabar";
  } else if (home != nullptr && *home == '/') {
    folder = std::filesystem::path(home) / ".cache" / "cinnabar";
  } else {
    return {};
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? std::filesystem::path() : folder;
}

}  // namespace cinnabar::base
