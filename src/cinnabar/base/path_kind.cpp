#include "cinnabar/base/path_kind.h"

#include <cerrno>
#include <cstring>
#include <system_error>

namespace cinnabar::base {

namespace {

namespace fs = std::filesystem;

std::string name_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::regular:
      return "a file";
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::symlink:
      return "a symbolic link";
    case fs::file_type::fifo:
      return "a FIFO (named pipe)";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    case fs::file_type::none:
    case fs::file_type::not_found:
      return "";
    default:
      return "neither a file nor a folder";
  }
}

}  // namespace

std::string kind_of(const fs::path& path) {
  std::error_code error;
  return name_of(fs::symlink_status(path, error).type());
}

std::string why_no_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::regular) return {};
  if (status.type() == fs::file_type::not_found) {
    return kind_of(path).empty() ? "no such file; check the path"
                                 : "this is a symbolic link to something that does not exist; mend or remove it";
  }
  if (status.type() == fs::file_type::none) return "cannot be looked at: " + error.message() + "; check the path";
  return "this is " + name_of(status.type()) + "; expected a file";
}

std::string why_not_replaced(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path, error).type();
  if (type == fs::file_type::regular || type == fs::file_type::not_found || type == fs::file_type::none) return {};
  return "this is " + name_of(type) + ", and only a regular file is replaced; name another file, or remove it";
}

bool is_no_space(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

Error write_error(std::string_view what, const fs::path& path, int error, const std::string& advice) {
  return Error(is_no_space(error) ? ErrorCode::OutOfSpace : ErrorCode::Io,
               std::string(what) + " " + path.string() + ": " + std::strerror(error) + advice);
}

}  // namespace cinnabar::base
