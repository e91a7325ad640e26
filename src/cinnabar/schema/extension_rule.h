// What an option that names an extension of files may be.
#pragma once

#include <string>
#include <string_view>

namespace cinnabar::schema {

// What is expected, or "" for an extension such as ".txt", "txt" or ".tags.txt".
std::string extension_problem(std::string_view extension);

}  // namespace cinnabar::schema
