#include "cinnabar/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/process.h"

namespace cinnabar::base {

namespace {

const char* room_hint(int error) {
  return error == EFBIG ? "; raise the limit of file sizes (ulimit -f) or of the file system"
                        : "; free some space and try again";
}

[[noreturn]] void fail_to_write(std::string_view what, const std::filesystem::path& path, int error) {
  throw write_error(what, path, error, is_no_space(error) ? room_hint(error) : "");
}

// A rename would put a plain file in the place of a device or a link.
void check_target(const std::filesystem::path& target) {
  const std::string why = why_not_replaced(target);
  if (!why.empty()) throw Error(ErrorCode::Io, "cannot write " + target.string() + ": " + why);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  check_target(target_);
  static std::atomic<uint64_t> counter{0};
  temporary_ = folder_of(target_) / ("." + target_.filename().string() + "." + std::to_string(::getpid()) + "-" +
                                     std::to_string(counter++) + ".tmp");
  fd_ = file_calls().open(temporary_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd_ < 0) fail_to_write("cannot create", target_, errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) file_calls().close(fd_);
  if (!is_named_) file_calls().unlink(temporary_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  CINNABAR_ASSERT(fd_ >= 0);
  if (!write_all(fd_, bytes)) fail_to_write("cannot write", target_, errno);
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::commit() {
  CINNABAR_ASSERT(fd_ >= 0);
  FileCalls& calls = file_calls();
  kill_point("file.before_sync");
  if (calls.sync(fd_) != 0) fail_to_write("cannot sync", target_, errno);
  // A failed close may be the first word of a failed write (NFS), so it comes before the name.
  if (calls.close(std::exchange(fd_, -1)) != 0 && errno != EINTR) fail_to_write("cannot close", target_, errno);
  kill_point("file.before_rename");
  check_target(target_);
  if (calls.rename(temporary_, target_) != 0) fail_to_write("cannot rename the finished file to", target_, errno);
  is_named_ = true;
  kill_point("file.renamed");
  if (!sync_folder(folder_of(target_))) fail_to_write("cannot sync the folder of", target_, errno);
}

void write_file(const std::filesystem::path& target, std::string_view text) {
  AtomicFile file(target);
  file.write(text);
  file.commit();
}

std::string read_file(const std::filesystem::path& path, size_t limit_bytes) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const int open_error = errno;
  struct stat info{};
  const bool is_file = file.is_open() && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
  if (!is_file) {
    const std::string why = why_no_file(path);
    throw Error(ErrorCode::Io, why.empty() ? "cannot read " + path.string() + ": " + std::strerror(open_error)
                                           : path.string() + ": " + why);
  }
  return read_open_file(file.get(), static_cast<uint64_t>(info.st_size), path, limit_bytes);
}

std::string read_open_file(int fd, uint64_t size, const std::filesystem::path& path, size_t limit_bytes) {
  if (size > limit_bytes) {
    throw Error(ErrorCode::Io, path.string() + ": " + std::to_string(size) + " bytes, at most " +
                                   std::to_string(limit_bytes) + " are read; is this the right file?");
  }
  std::string text(size, '\0');
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::read(fd, text.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw Error(ErrorCode::Io, "cannot read " + path.string() + ": " +
                                     (count < 0 ? std::strerror(errno) : "it became shorter while it was read"));
    }
    done += static_cast<size_t>(count);
  }
  return text;
}

}  // namespace cinnabar::base
