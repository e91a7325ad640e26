// The seam below every write to disk: the system calls that can fail, replaceable by tests that let them fail, cut
// them short or forget what was not synced.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace cinnabar::base {

// As the calls of POSIX: a result below 0 means failure with errno set. All are safe to call from several threads.
class FileCalls {
 public:
  virtual ~FileCalls() = default;

  virtual int open(const std::filesystem::path& path, int flags, mode_t mode);
  virtual ssize_t write(int fd, const void* data, size_t size);
  virtual int sync(int fd);  // of a file or of a folder
  virtual int close(int fd);
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
  // Swaps two names at once (Linux); ENOSYS or EINVAL where the file system cannot.
  virtual int exchange(const std::filesystem::path& one, const std::filesystem::path& other);
  virtual int unlink(const std::filesystem::path& path);
  virtual int make_folder(const std::filesystem::path& path, mode_t mode);
  virtual int remove_folder(const std::filesystem::path& path);
};

// The calls in use: the system's unless a test has put others in their place.
FileCalls& file_calls();

// For its lifetime, everything of this process is written through `calls`, which must outlive it.
class FileCallsGuard {
 public:
  explicit FileCallsGuard(FileCalls& calls);
  ~FileCallsGuard();
  FileCallsGuard(const FileCallsGuard&) = delete;
  FileCallsGuard& operator=(const FileCallsGuard&) = delete;

 private:
  FileCalls* previous_;
};

// Writes all bytes, going on after EINTR and short writes. False with errno set on failure.
bool write_all(int fd, std::span<const std::byte> bytes);
// fsync of a folder, so that the names in it survive a power loss. False with errno set on failure. File systems that
// cannot sync a folder (some network ones) count as done: a rename is still atomic there.
bool sync_folder(const std::filesystem::path& folder);
// Makes a folder and those above it that are missing. False with errno set on failure; a folder that is there is none.
bool make_folders(const std::filesystem::path& folder);
// Removes a folder and all that is in it through the seam; true when nothing is left.
bool remove_tree(const std::filesystem::path& folder);

// A place in the code where a test may end the process: `CINNABAR_KILL_AT=NAME` or `NAME:N` (at the N-th time, from 1)
// in the environment kills it with SIGKILL there. Without the variable it costs a comparison.
void kill_point(std::string_view name);

}  // namespace cinnabar::base
