#include "faults/fault_calls.h"

#include <algorithm>
#include <cerrno>

namespace cinnabar::faults {

bool FaultCalls::fails(Fault fault) {
  if (fault != plan_.fault) return false;
  const int64_t call = calls_++;
  if (call != plan_.at && !(plan_.is_sticky && call > plan_.at)) return false;
  errno = plan_.error;
  return true;
}

int FaultCalls::open(const std::filesystem::path& path, int flags, mode_t mode) {
  return fails(Fault::Open) ? -1 : FileCalls::open(path, flags, mode);
}

ssize_t FaultCalls::write(int fd, const void* data, size_t size) {
  if (fails(Fault::ShortWrite)) return FileCalls::write(fd, data, std::max<size_t>(1, size / 2));
  // A full disk takes a part first; an interrupted call has taken nothing.
  if (fails(Fault::Write)) {
    const int error = errno;
    if (size > 1 && error != EINTR) (void)FileCalls::write(fd, data, size / 2);
    errno = error;
    return -1;
  }
  return FileCalls::write(fd, data, size);
}

// Nothing here depends on the disk really having it.
int FaultCalls::sync(int) { return fails(Fault::Sync) ? -1 : 0; }

int FaultCalls::close(int fd) {
  const bool is_failing = fails(Fault::Close);
  const int error = errno;
  const int result = FileCalls::close(fd);  // the descriptor is gone either way, as on Linux
  if (!is_failing) return result;
  errno = error;
  return -1;
}

int FaultCalls::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return fails(Fault::Rename) ? -1 : FileCalls::rename(from, to);
}

int FaultCalls::exchange(const std::filesystem::path& one, const std::filesystem::path& other) {
  return fails(Fault::Rename) ? -1 : FileCalls::exchange(one, other);
}

int FaultCalls::make_folder(const std::filesystem::path& path, mode_t mode) {
  return fails(Fault::MakeFolder) ? -1 : FileCalls::make_folder(path, mode);
}

}  // namespace cinnabar::faults
