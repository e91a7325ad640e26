#include <algorithm>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/hardware/anonymise.h"
#include "cinnabar/hardware/recording.h"
#include "cinnabar/hardware/report.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

// Paths of control groups name sessions and containers: their effect is written, not they.
bool is_control_group(const std::string& path) {
  return path.starts_with("/sys/fs/cgroup") || path == "/proc/self/cgroup" || path == "/proc/1/cgroup" ||
         path == "/.dockerenv" || path == "/run/.containerenv";
}

class Recorder {
 public:
  Recorder(const Sources& sources, const Machine& machine, const fs::path& folder)
      : sources_(sources), machine_(machine), folder_(folder), hide_(Anonymiser::of_this_machine(sources.user.name)) {}

  void save() {
    make_folder(folder_);
    write_files();
    write_control_groups();
    write(folder_ / "machine.json", machine_json().dump(2) + "\n");
    write(folder_ / "expected.json", report_json(machine_) + "\n");
  }

 private:
  static void make_folder(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder) && !fs::is_empty(folder, error)) {
      throw base::Error(base::ErrorCode::Usage, folder.string() + " is not empty; name a new folder for the recording");
    }
    fs::create_directories(folder, error);
    if (error)
      throw base::Error(base::ErrorCode::Io, "cannot make the folder " + folder.string() + ": " + error.message());
  }

  static void write(const fs::path& file, const std::string& text) {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    base::write_file(file, text);
  }

  void write_files() const {
    const auto seen = sources_.files.seen();
    for (const auto& [path, read] : seen) {
      if (is_control_group(path)) continue;
      // The class of every device on the bus is looked at; only graphics devices are of interest.
      const std::string folder = path.substr(0, path.rfind('/'));
      if (path.starts_with("/sys/bus/pci/") && !seen.contains(folder + "/vendor")) continue;
      const fs::path target = folder_ / "root" / fs::path(path).relative_path();
      const auto text = read ? read : sources_.files.text(path);
      if (text) {
        write(target, hide_.file(path, *text));
      } else {
        std::error_code error;
        fs::create_directories(target, error);  // a folder whose being there counts
      }
    }
  }

  void write_control_groups() const {
    const fs::path group = folder_ / "root/sys/fs/cgroup";
    const Host& host = machine_.host;
    if (host.memory_limit_bytes) write(group / "memory.max", std::to_string(*host.memory_limit_bytes) + "\n");
    if (host.cpu_limit) {
      write(group / "cpu.max", std::to_string(static_cast<int64_t>(*host.cpu_limit * 100000.0 + 0.5)) + " 100000\n");
    }
    if (machine_.platform.is_container) write(folder_ / "root/.dockerenv", "");
  }

  ordered_json commands_json() {
    ordered_json commands = ordered_json::object();
    size_t number = 0;
    for (const auto& [line, result] : sources_.commands) {
      ordered_json entry = {{"stdout", nullptr}, {"exit", result.exit}};
      if (result.is_installed()) {
        const std::string name = "command-" + std::to_string(++number) + ".txt";
        write(folder_ / name, hide_.text(result.output));
        entry["stdout"] = name;
      }
      commands[line] = entry;
    }
    return commands;
  }

  ordered_json machine_json() {
    ordered_json environment = ordered_json::object();
    for (const auto& [name, value] : sources_.environment) environment[name] = hide_.variable(value);
    ordered_json devices = ordered_json::object();
    for (const auto& [path, node] : sources_.devices) {
      devices[path] = {{"exists", node.exists}};
      if (!node.exists) continue;
      devices[path]["group"] = hide_.text(node.group);
      devices[path]["mode"] = node.mode;
      devices[path]["open_rw"] = node.open_result;
    }
    const auto known_groups = [](const std::vector<std::string>& all) {
      ordered_json list = ordered_json::array();
      for (const std::string& name : all) {
        if (name == "render" || name == "video") list.push_back(name);
      }
      return list;
    };
    const Libtorch& torch = sources_.libtorch;
    ordered_json libtorch;
    if (torch.is_present) {
      libtorch = {{"version", nullptr}, {"hip", nullptr}, {"cuda", nullptr}, {"arch_list", torch.arch_list}};
      if (torch.version) libtorch["version"] = *torch.version;
      if (torch.hip) libtorch["hip"] = *torch.hip;
      if (torch.cuda) libtorch["cuda"] = *torch.cuda;
    }
    return {{"schema", 1},
            {"case", sources_.case_name},
            {"description", "Recorded by cinnabar doctor --record, without names, serial numbers and paths."},
            {"synthetic", false},
            {"env", environment},
            {"user",
             {{"name", "someone"},
              {"groups", known_groups(sources_.user.groups)},
              {"pending_groups", known_groups(sources_.user.pending_groups)}}},
            {"devices", devices},
            {"commands", commands_json()},
            {"libtorch", libtorch}};
  }

  const Sources& sources_;
  const Machine& machine_;
  fs::path folder_;
  Anonymiser hide_;
};

}  // namespace

void save_recording(const Sources& sources, const Machine& machine, const fs::path& folder) {
  Recorder(sources, machine, folder).save();
}

}  // namespace cinnabar::hardware
