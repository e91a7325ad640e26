// Where detection looks: files below a root, outputs of commands, environment, device nodes, the libtorch build. All of
// it can be replaced, so that a machine recorded as files is detected as if it were this one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/machine.h"

namespace cinnabar::hardware {

// Files of /sys, /proc, /etc and /opt, read below `root`. What cannot be read (missing, refused, asleep) is empty.
class FileTree {
 public:
  explicit FileTree(std::filesystem::path root = "/") : root_(std::move(root)) {}
  // Made up: path -> content.
  explicit FileTree(std::map<std::string, std::string> files) : made_up_(std::move(files)) {}

  std::optional<std::string> text(const std::string& path) const;  // trimmed; at most 1 MiB
  std::optional<int64_t> number(const std::string& path) const;
  std::optional<std::string> bytes(const std::string& path) const;  // as they are, for binary files; not recorded
  std::vector<std::string> names(const std::string& folder) const;  // sorted; digits by value
  bool has(const std::string& path) const;
  // Every file that was read or looked for and is there, for a recording: with the text that was read last, so that a
  // number which changes is recorded as it was reported.
  const std::map<std::string, std::optional<std::string>>& seen() const { return seen_; }

 private:
  std::optional<std::string> read(const std::string& path) const;

  std::filesystem::path root_;
  std::optional<std::map<std::string, std::string>> made_up_{};
  mutable std::map<std::string, std::optional<std::string>> seen_;
};

struct CommandResult {
  std::string output{};
  int exit = 127;

  bool is_installed() const { return exit != 127; }
};

struct DeviceNode {
  bool exists = false;
  std::string group{};
  std::string mode{};
  std::string open_result{};  // of opening for reading and writing: "ok", "EACCES", ...

  bool is_open() const { return exists && open_result == "ok"; }
  bool is_refused() const { return exists && (open_result == "EACCES" || open_result == "EPERM"); }
};

struct User {
  std::string name{};
  std::vector<std::string> groups{};
  std::vector<std::string> pending_groups{};  // listed in the group file, but not of this login
};

struct Sources {
  std::string case_name = "this-machine";
  FileTree files{};
  std::map<std::string, CommandResult> commands{};  // beginning of a command line -> what it printed
  std::map<std::string, std::string> environment{};
  std::map<std::string, DeviceNode> devices{};  // /dev/... ; what is not here does not exist
  User user{};
  Libtorch libtorch{};

  // The answer of the longest entry that the command line begins with; not installed when there is none.
  CommandResult run(const std::string& command_line) const;
  DeviceNode device(const std::string& path) const;
  std::optional<std::string> variable(const std::string& name) const;  // set and not empty
};

// The command lines that detection asks for.
extern const std::vector<std::string> kCommandLines;
namespace command_line {
inline constexpr const char* kRocminfo = "rocminfo";
inline constexpr const char* kAmdSmiVersion = "amd-smi version --json";
inline constexpr const char* kAmdSmiList = "amd-smi list --json";
inline constexpr const char* kAmdSmiStatic = "amd-smi static --json";
inline constexpr const char* kAmdSmiMetric = "amd-smi metric --json";
inline constexpr const char* kRocmSmi =
    "rocm-smi --showtemp --showpower --showuse --showmeminfo vram --showproductname --showdriverversion --json";
inline constexpr const char* kNvidiaSmi =
    "nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,memory.used,utilization.gpu,"
    "temperature.gpu,power.draw,compute_cap --format=csv";
inline constexpr const char* kHipconfig = "hipconfig --version";
}  // namespace command_line

// Whether a variable matters to detection and may stand in a recording.
bool is_relevant_variable(const std::string& name);

}  // namespace cinnabar::hardware
