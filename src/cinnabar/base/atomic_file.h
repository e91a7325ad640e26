// Files that are complete under their final name, or absent: the one way in which this project writes files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace cinnabar::base {

// Writes to a temporary file in the same folder; commit() does fsync, rename, fsync of the folder. Without commit the
// destructor removes the temporary. Errors throw Error{OutOfSpace} (ENOSPC, EDQUOT) or Error{Io} with the path and
// reason; after a failed write or fsync the file is given up, never retried.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int fd_ = -1;
  bool is_named_ = false;  // has its final name
};

// The whole of `text` as the file `target`, atomically.
void write_file(const std::filesystem::path& target, std::string_view text);
// The whole file as a string. Throws Error{Io} when missing or over `limit_bytes`.
std::string read_file(const std::filesystem::path& path, size_t limit_bytes = size_t{1} << 30);
// The same of a regular file of `size` bytes that is open at its beginning; `path` is for messages.
std::string read_open_file(int fd, uint64_t size, const std::filesystem::path& path,
                           size_t limit_bytes = size_t{1} << 30);

}  // namespace cinnabar::base
