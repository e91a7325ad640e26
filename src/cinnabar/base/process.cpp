#include "cinnabar/base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cinnabar/base/error.h"

namespace cinnabar::base {

namespace {

[[noreturn]] void fail_to_run(const std::string& what, int error) {
  throw Error(ErrorCode::Io, what + ": " + std::strerror(error));
}

void check(int error, const std::string& what) {
  if (error != 0) fail_to_run(what, error);
}

ExitStatus decode(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

struct FileActions {
  FileActions() { check(::posix_spawn_file_actions_init(&value), "cannot prepare a process"); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t value;
};

struct Attributes {
  Attributes() { check(::posix_spawnattr_init(&value), "cannot prepare a process"); }
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t value;
};

void set_descriptors(FileActions& actions, const ProcessOptions& options) {
  const std::string what = "cannot prepare the descriptors of a process";
  int highest = 2;
  bool has_input = false;
  // Sources lie above all targets, so that no dup2 overwrites a later source.
  for (const auto& [ours, theirs] : options.descriptors) {
    highest = std::max(highest, theirs);
    has_input = has_input || theirs == 0;
  }
  for (const auto& [ours, theirs] : options.descriptors) {
    CINNABAR_ASSERT(ours > highest || ours == theirs || ours <= 2);
    check(::posix_spawn_file_actions_adddup2(&actions.value, ours, theirs), what);
  }
  if (!has_input) check(::posix_spawn_file_actions_addopen(&actions.value, 0, "/dev/null", O_RDONLY, 0), what);
  check(::posix_spawn_file_actions_addclosefrom_np(&actions.value, highest + 1), what);
  if (!options.folder.empty()) {
    check(::posix_spawn_file_actions_addchdir_np(&actions.value, options.folder.c_str()), what);
  }
}

void set_attributes(Attributes& attributes, const ProcessOptions& options) {
  sigset_t all;
  sigset_t none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  check(::posix_spawnattr_setsigdefault(&attributes.value, &all), "cannot prepare a process");
  check(::posix_spawnattr_setsigmask(&attributes.value, &none), "cannot prepare a process");
  check(::posix_spawnattr_setpgroup(&attributes.value, 0), "cannot prepare a process");
  const int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (options.is_own_group ? POSIX_SPAWN_SETPGROUP : 0);
  check(::posix_spawnattr_setflags(&attributes.value, static_cast<short>(flags)), "cannot prepare a process");
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

namespace {

// EINVAL is what asking for a number above the limit gives: the same cause as EMFILE.
[[noreturn]] void fail_for_pipe(int error) {
  rlimit limit{};
  const bool is_limit = (error == EMFILE || error == EINVAL) && ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (!is_limit) fail_to_run("cannot make a pipe", error);
  throw Error(ErrorCode::Io, "cannot make a pipe: " + std::string(std::strerror(EMFILE)) + " (at most " +
                                 std::to_string(limit.rlim_cur) + "); raise the limit, for instance ulimit -n 1024");
}

}  // namespace

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_for_pipe(errno);
  // High numbers, so that they never collide with the numbers a child expects.
  Pipe low{Descriptor(ends[0]), Descriptor(ends[1])};
  errno = 0;
  Pipe high{Descriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, 10)), Descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, 10))};
  const int error = errno;
  if (!high.read.is_open() || !high.write.is_open()) fail_for_pipe(error);
  return high;
}

Process::Process(const ProcessOptions& options) {
  FileActions actions;
  Attributes attributes;
  set_descriptors(actions, options);
  set_attributes(attributes, options);
  std::vector<std::string> arguments = {options.program.string()};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = options.environment;
  const int error = ::posix_spawn(&pid_, options.program.c_str(), &actions.value, &attributes.value,
                                  pointers(arguments).data(), pointers(environment).data());
  if (error != 0) {
    pid_ = -1;
    fail_to_run("cannot start " + options.program.string(), error);
  }
}

Process::~Process() {
  if (pid_ < 0 || status_) return;
  send_signal(SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

ExitStatus Process::wait() {
  while (!status_) {
    int status = 0;
    if (::waitpid(pid_, &status, 0) == pid_) {
      status_ = decode(status);
    } else if (errno != EINTR) {
      fail_to_run("cannot wait for a process", errno);
    }
  }
  return *status_;
}

std::optional<ExitStatus> Process::poll() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = decode(status);
  return status_;
}

void Process::send_signal(int signal) noexcept {
  if (pid_ > 0 && !status_) ::kill(pid_, signal);
}

std::vector<std::string> selected_environment(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const std::string name = variable.substr(0, variable.find('='));
    if (name.starts_with("LD_") || name.starts_with("PYTHON")) continue;
    const bool is_wanted = std::any_of(names.begin(), names.end(), [&](const std::string& wanted) {
      return wanted.ends_with('*') ? name.starts_with(wanted.substr(0, wanted.size() - 1)) : name == wanted;
    });
    if (is_wanted) result.push_back(variable);
  }
  return result;
}

std::filesystem::path program_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(ErrorCode::Io, "cannot find the folder of this program: " + error.message());
  return program.parent_path();
}

}  // namespace cinnabar::base
