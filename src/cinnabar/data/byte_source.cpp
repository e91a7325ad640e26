#include "cinnabar/data/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cinnabar/base/error.h"

namespace cinnabar::data {

namespace {

// As many bytes as there are, up to the size of `out`.
size_t read_at(int fd, uint64_t offset, std::span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

int64_t nanoseconds(const struct timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileStamp stamp_of(const struct stat& info) {
  return {.size = static_cast<uint64_t>(info.st_size),
          .written_ns = nanoseconds(info.st_mtim),
          .changed_ns = nanoseconds(info.st_ctim),
          .inode = static_cast<uint64_t>(info.st_ino)};
}

ByteSource::ByteSource(std::span<const uint8_t> bytes) : memory_(bytes), size_(bytes.size()) {}

ByteSource::ByteSource(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer; fstat refuses it then.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status{};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) {
    const int error = errno;
    if (fd_ >= 0) ::close(fd_);
    throw base::Error(base::ErrorCode::Io, "cannot open " + path.string() + ": " + std::strerror(error));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd_);
    throw base::Error(base::ErrorCode::Io, path.string() + ": not a regular file; expected a picture");
  }
  size_ = static_cast<uint64_t>(status.st_size);
  stamp_ = stamp_of(status);
}

ByteSource::~ByteSource() {
  if (fd_ >= 0) ::close(fd_);
}

bool ByteSource::read(uint64_t offset, std::span<uint8_t> out) {
  if (offset > size_ || out.size() > size_ - offset) return false;
  if (fd_ < 0) {
    std::ranges::copy(memory_.subspan(offset, out.size()), out.begin());
    return true;
  }
  if (out.size() > last_.bytes.size()) return read_at(fd_, offset, out) == out.size();
  const bool is_head = offset + out.size() <= head_.bytes.size();
  Block& block = is_head ? head_ : last_;
  if (!fill(block, is_head ? 0 : offset, offset + out.size())) return false;
  std::memcpy(out.data(), block.bytes.data() + (offset - block.start), out.size());
  return true;
}

bool ByteSource::fill(Block& block, uint64_t start, uint64_t end) {
  if (start >= block.start && end <= block.start + block.size) return true;
  block.start = start;
  block.size = read_at(fd_, start, std::span(block.bytes).first(std::min<uint64_t>(block.bytes.size(), size_ - start)));
  return end <= start + block.size;
}

std::string ByteSource::text(uint64_t offset, size_t length) {
  std::string result(length, '\0');
  if (!read(offset, {reinterpret_cast<uint8_t*>(result.data()), length})) result.clear();
  return result;
}

std::optional<uint32_t> ByteSource::big(uint64_t offset, size_t bytes) {
  std::array<uint8_t, 4> raw{};
  if (!read(offset, std::span(raw).first(bytes))) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | raw[i];
  return value;
}

std::optional<uint32_t> ByteSource::little(uint64_t offset, size_t bytes) {
  std::array<uint8_t, 4> raw{};
  if (!read(offset, std::span(raw).first(bytes))) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = bytes; i > 0; --i) value = value << 8 | raw[i - 1];
  return value;
}

}  // namespace cinnabar::data
