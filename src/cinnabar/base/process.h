// Child processes: an argument vector, no shell, no inherited descriptors (POSIX).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::base {

// A file descriptor that is closed at the end. Movable.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close() noexcept;

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

// Both ends close-on-exec. Throws Error{Io}.
Pipe make_pipe();

struct ProcessOptions {
  std::filesystem::path program;                   // absolute
  std::vector<std::string> arguments{};            // without the program's own name
  std::vector<std::string> environment{};          // complete, as NAME=VALUE
  std::filesystem::path folder{};                  // to work in; empty: ours
  std::vector<std::pair<int, int>> descriptors{};  // {ours, the child's number}; all others above 2 are closed
  bool is_own_group = true;                        // signals of the terminal do not reach it
};

struct ExitStatus {
  std::optional<int> code{};    // exited by itself
  std::optional<int> signal{};  // ended by a signal
};

class Process {
 public:
  // stdin is /dev/null unless given. Throws Error{Io} when the program cannot be started.
  explicit Process(const ProcessOptions& options);
  // Kills a child that nobody waited for.
  ~Process();
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}
  Process& operator=(Process&&) = delete;

  pid_t id() const { return pid_; }
  ExitStatus wait();
  std::optional<ExitStatus> poll();
  // Does nothing once the child is reaped.
  void send_signal(int signal) noexcept;

 private:
  pid_t pid_ = -1;
  std::optional<ExitStatus> status_;
};

// The variables of the present environment that a child may have: those of `names`; a name that ends in * stands for
// all that begin so. Never LD_* or PYTHON* (security: no code by environment).
std::vector<std::string> selected_environment(const std::vector<std::string>& names);
// The folder of the running program. Throws Error{Io}.
std::filesystem::path program_folder();

}  // namespace cinnabar::base
