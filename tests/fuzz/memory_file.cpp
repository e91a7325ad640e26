#include "fuzz/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

namespace cinnabar::fuzz {

std::filesystem::path memory_file(Input content) {
  static const int fd = ::memfd_create("cinnabar-fuzz", MFD_CLOEXEC);
  const bool is_written = fd >= 0 && ::ftruncate(fd, 0) == 0 &&
                          ::pwrite(fd, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
  if (!is_written) throw std::runtime_error("cannot write a file in memory");
  return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace cinnabar::fuzz
