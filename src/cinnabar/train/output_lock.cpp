#include "cinnabar/train/output_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/utf8.h"

namespace cinnabar::train {

namespace {

[[noreturn]] void fail(const std::string& what, const std::filesystem::path& path) {
  throw base::write_error(what, path, errno);
}

// "d05914c0123abcde, process 4711 on the machine anna", as the holder wrote it.
std::string holder_text(int fd) {
  std::array<char, 128> bytes{};
  const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), 0);
  if (count <= 0) return "another process";
  return base::shown_text(std::string_view(bytes.data(), static_cast<size_t>(count)), 120);
}

std::string own_text() {
  std::array<char, 65> host{};
  const bool has_name = ::gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
  return "process " + std::to_string(::getpid()) + (has_name ? " on the machine " + std::string(host.data()) : "");
}

std::string one_part(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

// Whether the name still stands for the open file: the holder before removed it when it ended.
bool is_same_file(int fd, const std::filesystem::path& path) {
  struct stat open{};
  struct stat named{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace

OutputLock::OutputLock(const std::filesystem::path& folder, const std::string& name, base::EventSink& events,
                       const std::string& run)
    : path_(folder / ("." + one_part(name) + ".lock")) {
  if (!base::make_folders(folder)) fail("cannot make output_dir", folder);
  while (true) {
    file_ = base::Descriptor(base::file_calls().open(path_, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file_.is_open()) fail("cannot write to output_dir: no file", path_);
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_same_file(file_.get(), path_)) break;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) refuse(folder, name);
    events.log(folder.string() + " cannot be locked (" + std::strerror(errno) +
               "): nothing keeps a second run from writing files of the same name there.");
    base::file_calls().unlink(path_);
    file_.close();
    return;
  }
  // Without these words, on a full disk for instance, the lock holds all the same.
  const std::string text = (run.empty() ? "" : run + ", ") + own_text();
  if (::ftruncate(file_.get(), 0) == 0) base::write_all(file_.get(), std::as_bytes(std::span(text)));
}

OutputLock::~OutputLock() {
  // While it is held: whoever opened the file meanwhile finds that the name has gone, and opens it anew.
  if (file_.is_open()) base::file_calls().unlink(path_);
}

void OutputLock::refuse(const std::filesystem::path& folder, const std::string& name) const {
  throw base::Error(base::ErrorCode::Config,
                    "another run (" + holder_text(file_.get()) + ") writes files of the name \"" + name + "\" in " +
                        folder.string() +
                        " now, and each would replace those of the other: give another --output_name or --output_dir, "
                        "or wait until that run has ended");
}

}  // namespace cinnabar::train
