#include "cinnabar/hardware/system_sources.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "cinnabar/base/error.h"
#include "cinnabar/base/process.h"
#include "cinnabar/hardware/command_runner.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

constexpr std::chrono::seconds kPatience(10);

std::string group_name(gid_t id) {
  const group* entry = ::getgrgid(id);
  return entry == nullptr ? std::to_string(id) : std::string(entry->gr_name);
}

std::string error_name(int error) {
  switch (error) {
    case EACCES:
      return "EACCES";
    case EPERM:
      return "EPERM";
    case EBUSY:
      return "EBUSY";
    case ENODEV:
      return "ENODEV";
    case ENXIO:
      return "ENXIO";
    default:
      return "errno " + std::to_string(error);
  }
}

DeviceNode probe(const std::string& path) {
  struct stat facts{};
  DeviceNode node;
  if (::stat(path.c_str(), &facts) != 0) return node;
  node.exists = true;
  node.group = group_name(facts.st_gid);
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", facts.st_mode & 0777U);
  node.mode = mode.data();
  const base::Descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  node.open_result = opened.is_open() ? "ok" : error_name(errno);
  return node;
}

std::map<std::string, DeviceNode> probe_devices() {
  std::map<std::string, DeviceNode> devices;
  for (const char* path : {"/dev/kfd", "/dev/dxg", "/dev/nvidiactl"}) devices[path] = probe(path);
  for (const std::string& name : FileTree("/").names("/dev/dri")) {
    if (name.starts_with("renderD")) devices["/dev/dri/" + name] = probe("/dev/dri/" + name);
  }
  return devices;
}

User this_user() {
  User user;
  if (const passwd* entry = ::getpwuid(::geteuid()); entry != nullptr) user.name = entry->pw_name;
  std::vector<gid_t> ids(256);
  const int count = ::getgroups(static_cast<int>(ids.size()), ids.data());
  ids.resize(count < 0 ? 0 : static_cast<size_t>(count));
  ids.push_back(::getegid());
  for (const gid_t id : ids) user.groups.push_back(group_name(id));
  for (const char* name : {"render", "video"}) {
    const group* entry = ::getgrnam(name);
    if (entry == nullptr || user.name.empty()) continue;
    bool is_member = false;
    for (char** member = entry->gr_mem; *member != nullptr; ++member) is_member = is_member || user.name == *member;
    if (is_member && std::find(user.groups.begin(), user.groups.end(), name) == user.groups.end())
      user.pending_groups.emplace_back(name);
  }
  return user;
}

std::map<std::string, std::string> this_environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    if (is_relevant_variable(variable.substr(0, equals)))
      result[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return result;
}

// The libraries run in a process of their own, which their crash would end: this program, as "doctor --probe NAME".
void ask_libraries(Sources& sources) {
  const auto ask = [&](const char* name, std::initializer_list<const char*> lines) {
    const bool has_tool =
        std::any_of(lines.begin(), lines.end(), [&](const char* line) { return sources.run(line).is_installed(); });
    if (has_tool) return;
    CommandResult answer;
    try {
      const std::string program = (base::program_folder() / "cinnabar").string();
      answer = run_command({program, "doctor", "--probe", name}, kPatience);
    } catch (const base::Error&) {
      return;  // no program to ask with: the tool counts as missing, as it is
    }
    if (answer.exit != 0 || answer.output.empty()) return;
    for (const char* line : lines) sources.commands[line] = answer;
  };
  if (sources.files.has("/sys/module/amdgpu")) {
    ask("amd_smi", {command_line::kAmdSmiList, command_line::kAmdSmiStatic, command_line::kAmdSmiMetric});
    ask("rocm_smi", {command_line::kRocmSmi});
  }
  if (sources.files.has("/proc/driver/nvidia") || sources.device("/dev/nvidiactl").exists)
    ask("nvml", {command_line::kNvidiaSmi});
}

}  // namespace

Sources system_sources(const Libtorch& libtorch, bool with_tools) {
  Sources sources;
  sources.environment = this_environment();
  sources.devices = probe_devices();
  sources.user = this_user();
  sources.libtorch = libtorch;
  if (with_tools) {
    sources.commands = run_commands(kCommandLines, kPatience);
    ask_libraries(sources);
  }
  return sources;
}

}  // namespace cinnabar::hardware
