// What is installed: the program's version, its libtorch and its build.
#pragma once

#include <string>

namespace cinnabar::cli {

// Three lines.
std::string version_text();

}  // namespace cinnabar::cli
