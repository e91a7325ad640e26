// What stands under a name on the disk, for messages and for the decision whether it may be read or replaced.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cinnabar/base/error.h"

namespace cinnabar::base {

// "a folder", "a FIFO", "a device", ... of the name itself (a symbolic link is one); "" when nothing is there.
std::string kind_of(const std::filesystem::path& path);
// Why `path` (links followed) cannot be read as a file, and what to do, e.g. "this is a FIFO; expected a file"; "" when
// it is a regular file. Never throws and opens nothing.
std::string why_no_file(const std::filesystem::path& path);
// Why a file may not be put in the place of `path`: only a regular file is replaced, never a device, FIFO, socket,
// folder or symbolic link. "" when it may.
std::string why_not_replaced(const std::filesystem::path& path);
// Whether this errno of a write means that there is no room: a full disk, a quota, or the limit of file sizes.
bool is_no_space(int error);
// "cannot make FOLDER: Permission denied" with `advice` behind it; Error{OutOfSpace} or Error{Io}. `error` is an errno.
Error write_error(std::string_view what, const std::filesystem::path& path, int error, const std::string& advice = "");

}  // namespace cinnabar::base
