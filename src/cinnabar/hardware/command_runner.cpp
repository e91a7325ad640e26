#include "cinnabar/hardware/command_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "cinnabar/base/error.h"
#include "cinnabar/base/process.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMostOutputBytes = 4 << 20;

std::optional<fs::path> find_program(const std::string& name) {
  if (name.starts_with("/")) return fs::path(name);
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH"); path != nullptr) folders = parts_of(path, ':');
  folders.insert(folders.end(), {"/opt/rocm/bin", "/usr/lib/wsl/lib"});
  for (const std::string& folder : folders) {
    const fs::path file = fs::path(folder) / name;
    if (folder.starts_with("/") && ::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
  }
  return std::nullopt;
}

std::vector<std::string> tool_environment() {
  std::vector<std::string> environment =
      base::selected_environment({"PATH", "HOME", "ROCR_*", "HIP_*", "HSA_*", "CUDA_*", "ROCM_*"});
  environment.emplace_back("LC_ALL=C");
  return environment;
}

// A started tool and what it printed so far.
class Running {
 public:
  Running(const fs::path& program, const std::vector<std::string>& arguments) : pipe_(base::make_pipe()) {
    const base::Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    process_ = std::make_unique<base::Process>(
        base::ProcessOptions{.program = program,
                             .arguments = arguments,
                             .environment = tool_environment(),
                             .descriptors = {{pipe_.write.get(), STDOUT_FILENO}, {nowhere.get(), STDERR_FILENO}}});
    pipe_.write.close();
  }

  int fd() const { return pipe_.read.is_open() ? pipe_.read.get() : -1; }

  void take() {
    char buffer[1 << 16];
    const ssize_t count = ::read(pipe_.read.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) return;
    if (count <= 0 || result_.output.size() > kMostOutputBytes) return pipe_.read.close();
    result_.output.append(buffer, static_cast<size_t>(count));
  }

  CommandResult finish(Clock::time_point deadline) {
    pipe_.read.close();
    auto status = process_->poll();
    while (!status && Clock::now() < deadline) {
      ::poll(nullptr, 0, 2);
      status = process_->poll();
    }
    if (!status) {
      process_->send_signal(SIGKILL);
      process_->wait();
      result_.exit = 124;
      return result_;
    }
    result_.exit = status->code ? *status->code : 128 + status->signal.value_or(0);
    // 127 means "not installed" here; a tool that says so itself is there.
    if (result_.exit == 127) result_.exit = 126;
    return result_;
  }

 private:
  base::Pipe pipe_;
  std::unique_ptr<base::Process> process_;
  CommandResult result_;
};

void read_all(std::map<std::string, std::unique_ptr<Running>>& running, Clock::time_point deadline) {
  while (true) {
    std::vector<pollfd> waits;
    std::vector<Running*> owners;
    for (auto& [line, tool] : running) {
      if (tool->fd() < 0) continue;
      waits.push_back({tool->fd(), POLLIN, 0});
      owners.push_back(tool.get());
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (waits.empty() || left <= 0) return;
    if (::poll(waits.data(), waits.size(), static_cast<int>(left)) < 0 && errno != EINTR) return;
    for (size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents != 0) owners[i]->take();
    }
  }
}

std::map<std::string, CommandResult> run_all(const std::map<std::string, std::vector<std::string>>& commands,
                                             std::chrono::seconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  std::map<std::string, std::unique_ptr<Running>> running;
  std::map<std::string, CommandResult> results;
  for (const auto& [key, words] : commands) {
    results[key] = {};
    const auto program = find_program(words.front());
    if (!program) continue;
    try {
      running[key] = std::make_unique<Running>(*program, std::vector<std::string>(words.begin() + 1, words.end()));
    } catch (const base::Error& error) {
      results[key] = {.output = error.message(), .exit = 126};
    }
  }
  read_all(running, deadline);
  for (auto& [key, tool] : running) results[key] = tool->finish(deadline);
  return results;
}

}  // namespace

std::map<std::string, CommandResult> run_commands(const std::vector<std::string>& lines, std::chrono::seconds limit) {
  std::map<std::string, std::vector<std::string>> commands;
  for (const std::string& line : lines) commands[line] = parts_of(line, ' ');
  return run_all(commands, limit);
}

CommandResult run_command(const std::vector<std::string>& words, std::chrono::seconds limit) {
  return run_all({{"", words}}, limit).at("");
}

}  // namespace cinnabar::hardware
