#include "cinnabar/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/base/mapped_pages.h"

namespace cinnabar::base {

namespace {

// Ranges of all mapped files, by their first address: what a caller hands in may as well be ordinary memory, which must
// never be dropped.
class Ranges {
 public:
  void add(const std::byte* data, size_t size) {
    const std::lock_guard lock(mutex_);
    sizes_[data] = size;
  }
  void remove(const std::byte* data) {
    const std::lock_guard lock(mutex_);
    sizes_.erase(data);
  }
  bool holds(std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    auto next = sizes_.upper_bound(bytes.data());
    if (next == sizes_.begin()) return false;
    const auto& [data, size] = *--next;
    const auto offset = static_cast<size_t>(bytes.data() - data);
    return offset <= size && bytes.size() <= size - offset;
  }

 private:
  std::mutex mutex_;
  std::map<const std::byte*, size_t> sizes_;
};

Ranges& ranges() {
  static auto* all = new Ranges();  // NOLINT: never destroyed, since files may be unmapped while the program ends
  return *all;
}

uintptr_t page_bytes() {
  static const auto bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

bool is_mapped(std::span<const std::byte> bytes) { return ranges().holds(bytes); }

bool drop_pages(std::span<const std::byte> bytes) {
  if (bytes.empty() || !ranges().holds(bytes)) return false;
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = (address + page_bytes() - 1) & ~(page_bytes() - 1);
  const uintptr_t end = (address + bytes.size()) & ~(page_bytes() - 1);
  if (begin >= end) return true;
  return ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0;  // NOLINT: an address
}

bool allow_private_writes(std::span<const std::byte> bytes) {
  if (bytes.empty() || !ranges().holds(bytes)) return false;
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = address & ~(page_bytes() - 1);
  const uintptr_t end = (address + bytes.size() + page_bytes() - 1) & ~(page_bytes() - 1);
  return ::mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0;  // NOLINT: an address
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error(ErrorCode::Io, "cannot open " + path.string() + ": " + std::strerror(errno));
  struct stat info{};
  const bool is_regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (!is_regular) {
    ::close(fd);
    throw Error(ErrorCode::Io, path.string() + " is not a regular file");
  }
  size_ = static_cast<size_t>(info.st_size);
  if (size_ > 0) {
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) {
      const int error = errno;
      ::close(fd);
      throw Error(ErrorCode::Io, "cannot map " + path.string() + ": " + std::strerror(error));
    }
    data_ = static_cast<const std::byte*>(address);
    ranges().add(data_, size_);
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  ranges().remove(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace cinnabar::base
