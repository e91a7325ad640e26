#include "cinnabar/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "cinnabar/base/error.h"

namespace cinnabar::base {

namespace {

[[noreturn]] void fail(std::string_view what, const std::filesystem::path& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  throw Error(full ? ErrorCode::OutOfSpace : ErrorCode::Io,
              std::string(what) + " " + path.string() + ": " + std::strerror(error) +
                  (full ? "; free some space and try again" : ""));
}

void sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail("cannot open the folder", folder, errno);
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some network file systems cannot sync a folder; the rename itself is still atomic there.
  if (result != 0 && error != EINVAL && error != ENOTSUP) fail("cannot sync the folder", folder, error);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  static std::atomic<uint64_t> counter{0};
  temporary_ = folder_of(target_) / ("." + target_.filename().string() + "." + std::to_string(::getpid()) + "-" +
                                     std::to_string(counter++) + ".tmp");
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd_ < 0) fail("cannot create", target_, errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  CINNABAR_ASSERT(fd_ >= 0);
  const std::byte* data = bytes.data();
  size_t left = bytes.size();
  while (left > 0) {
    const ssize_t written = ::write(fd_, data, left);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot write", target_, errno);
    }
    data += written;
    left -= static_cast<size_t>(written);
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::commit() {
  CINNABAR_ASSERT(fd_ >= 0);
  if (::fsync(fd_) != 0) fail("cannot sync", target_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot rename the finished file to", target_, errno);
  ::close(fd_);
  fd_ = -1;
  sync_folder(folder_of(target_));
}

void write_file(const std::filesystem::path& target, std::string_view text) {
  AtomicFile file(target);
  file.write(text);
  file.commit();
}

std::string read_file(const std::filesystem::path& path, size_t limit_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ErrorCode::Io, path.string() + ": no such file; check the path");
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw Error(ErrorCode::Io, "cannot read " + path.string() + ": " + error.message());
  if (size > limit_bytes) {
    throw Error(ErrorCode::Io, path.string() + ": " + std::to_string(size) + " bytes, at most " +
                                   std::to_string(limit_bytes) + " are read; is this the right file?");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in && size > 0) throw Error(ErrorCode::Io, "cannot read " + path.string() + ": " + std::strerror(errno));
  return text;
}

}  // namespace cinnabar::base
