// Files that come with the program: the embedded model and its pictures.
#pragma once

#include <filesystem>
#include <string>

namespace cinnabar::base {

// The value of an option that stands for something that the program carries.
constexpr const char* kEmbedded = "embedded";

// `name` below the folder of shared files: CINNABAR_SHARE, share/cinnabar beside an installed program, or share/ of the
// checkout that holds the running program. Throws Error{Io} that says where it was looked for.
std::filesystem::path resource(const std::string& name);

// "embedded" becomes the path of `name`; any other value is a path already.
std::filesystem::path resolved(const std::string& value, const std::string& name);

}  // namespace cinnabar::base
