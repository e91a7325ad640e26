#include "cinnabar/base/resources.h"

#include <cstdlib>
#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/base/process.h"

namespace cinnabar::base {

std::filesystem::path resource(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  if (const char* set = std::getenv("CINNABAR_SHARE"); set != nullptr && *set != '\0') folders.emplace_back(set);
  const std::filesystem::path program = program_folder();
  folders.push_back(program.parent_path() / "share" / "cinnabar");
  for (std::filesystem::path up = program; up.has_relative_path(); up = up.parent_path()) {
    if (std::filesystem::exists(up / "share" / "embedded")) folders.push_back(up / "share");
  }
  std::string tried;
  for (const auto& folder : folders) {
    if (std::filesystem::exists(folder / name)) return folder / name;
    tried += (tried.empty() ? "" : ", ") + folder.string();
  }
  throw Error(ErrorCode::Io, "the program's own file " + name + " was not found in " + tried +
                                 "; install Cinnabar anew, or name the folder that holds it in CINNABAR_SHARE");
}

std::filesystem::path resolved(const std::string& value, const std::string& name) {
  return value == kEmbedded ? resource(name) : std::filesystem::path(value);
}

}  // namespace cinnabar::base
