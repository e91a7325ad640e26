#include "cinnabar/base/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace cinnabar::base {

namespace {

std::atomic<FileCalls*>& current() {
  static FileCalls system;
  static std::atomic<FileCalls*> calls{&system};
  return calls;
}

struct KillPlan {
  std::string name;
  int64_t time = 1;
};

KillPlan kill_plan() {
  const char* text = std::getenv("CINNABAR_KILL_AT");
  if (text == nullptr) return {};
  KillPlan plan{.name = text};
  if (const size_t colon = plan.name.find(':'); colon != std::string::npos) {
    plan.time = std::strtoll(plan.name.c_str() + colon + 1, nullptr, 10);
    plan.name.resize(colon);
  }
  return plan;
}

}  // namespace

int FileCalls::open(const std::filesystem::path& path, int flags, mode_t mode) {
  return ::open(path.c_str(), flags, mode);
}
ssize_t FileCalls::write(int fd, const void* data, size_t size) { return ::write(fd, data, size); }
int FileCalls::sync(int fd) { return ::fsync(fd); }
int FileCalls::close(int fd) { return ::close(fd); }
int FileCalls::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return ::rename(from.c_str(), to.c_str());
}
int FileCalls::exchange(const std::filesystem::path& one, const std::filesystem::path& other) {
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
}
int FileCalls::unlink(const std::filesystem::path& path) { return ::unlink(path.c_str()); }
int FileCalls::make_folder(const std::filesystem::path& path, mode_t mode) { return ::mkdir(path.c_str(), mode); }
int FileCalls::remove_folder(const std::filesystem::path& path) { return ::rmdir(path.c_str()); }

FileCalls& file_calls() { return *current().load(std::memory_order_acquire); }

FileCallsGuard::FileCallsGuard(FileCalls& calls) : previous_(current().exchange(&calls)) {}
FileCallsGuard::~FileCallsGuard() { current().store(previous_); }

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = file_calls().write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    if (written == 0) {
      errno = EIO;
      return false;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

bool sync_folder(const std::filesystem::path& folder) {
  FileCalls& calls = file_calls();
  const int fd = calls.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  const int result = calls.sync(fd);
  const int error = errno;
  calls.close(fd);
  errno = error;
  return result == 0 || error == EINVAL || error == ENOTSUP;
}

bool make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return true;
  if (folder.has_parent_path() && folder.parent_path() != folder && !make_folders(folder.parent_path())) return false;
  if (file_calls().make_folder(folder, 0777) == 0) return true;
  const int made = errno;
  // Another program was quicker, or the name ends in a slash.
  if (made == EEXIST && std::filesystem::is_directory(folder, error)) return true;
  errno = made;
  return false;
}

bool remove_tree(const std::filesystem::path& folder) {
  std::error_code error;
  // What a link points to is not ours.
  if (std::filesystem::symlink_status(folder, error).type() == std::filesystem::file_type::symlink) {
    return file_calls().unlink(folder) == 0;
  }
  std::vector<std::filesystem::path> entries;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  for (const std::filesystem::path& entry : entries) {
    const std::filesystem::file_status status = std::filesystem::symlink_status(entry, error);
    if (status.type() == std::filesystem::file_type::directory) {
      remove_tree(entry);
    } else {
      file_calls().unlink(entry);
    }
  }
  return file_calls().remove_folder(folder) == 0 || errno == ENOENT;
}

void kill_point(std::string_view name) {
  static const KillPlan plan = kill_plan();
  if (plan.name.empty() || plan.name != name) return;
  static std::atomic<int64_t> times{0};
  if (++times == plan.time) ::kill(::getpid(), SIGKILL);
}

}  // namespace cinnabar::base
