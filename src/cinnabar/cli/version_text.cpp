#include "cinnabar/cli/version_text.h"

#include "cinnabar/base/error.h"
#include "cinnabar/jobs/engine.h"

namespace cinnabar::cli {

namespace {

std::string torch_text() {
  try {
    const std::filesystem::path torch = jobs::find_torch();
    return jobs::torch_version(torch) + " in " + torch.string();
  } catch (const base::Error& error) {
    return "not usable: " + error.message();
  }
}

}  // namespace

std::string version_text() {
  return std::string("cinnabar ") + CINNABAR_VERSION + "\nlibtorch " + torch_text() + "\nbuild " + CINNABAR_BUILD_TYPE +
         ", " +
#ifdef __clang__
         "clang " +
#else
         "g++ " +
#endif
         __VERSION__ + "\n";
}

}  // namespace cinnabar::cli
