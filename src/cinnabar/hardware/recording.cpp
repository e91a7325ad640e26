#include "cinnabar/hardware/recording.h"

#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"

namespace cinnabar::hardware {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw base::Error(base::ErrorCode::Format,
                    file.string() + ": " + what + "; see docs/doctor.md, \"A machine as files\"");
}

std::optional<std::string> maybe_text(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::vector<std::string> texts(const json& object, const char* name) {
  std::vector<std::string> list;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return list;
  for (const json& entry : *found) {
    if (entry.is_string()) list.push_back(entry.get<std::string>());
  }
  return list;
}

json object_of(const json& machine, const char* name) {
  const auto found = machine.find(name);
  return found != machine.end() && found->is_object() ? *found : json::object();
}

CommandResult command_of(const fs::path& folder, const fs::path& file, const std::string& line, const json& entry) {
  CommandResult result;
  const auto exit = entry.is_object() ? entry.find("exit") : entry.end();
  if (!entry.is_object()) fail(file, "the command \"" + line + "\" is no object of stdout and exit");
  result.exit = exit != entry.end() && exit->is_number_integer() ? exit->get<int>() : 0;
  const auto name = maybe_text(entry, "stdout");
  if (!name) return result;
  if (name->find('/') != std::string::npos || *name == "..")
    fail(file, "the output of \"" + line + "\" must be a file beside it, not " + *name);
  result.output = base::read_file(folder / *name, size_t{16} << 20);
  return result;
}

Libtorch libtorch_of(const json& machine) {
  Libtorch torch;
  const json entry = object_of(machine, "libtorch");
  if (entry.empty()) return torch;
  torch.is_present = true;
  torch.version = maybe_text(entry, "version");
  torch.hip = maybe_text(entry, "hip");
  torch.cuda = maybe_text(entry, "cuda");
  torch.arch_list = texts(entry, "arch_list");
  return torch;
}

}  // namespace

Sources load_recording(const fs::path& folder) {
  const fs::path file = folder / "machine.json";
  if (!fs::exists(file)) {
    throw base::Error(base::ErrorCode::Io, folder.string() +
                                               ": expected a folder with machine.json in it, as \"cinnabar doctor "
                                               "--record FOLDER\" writes one");
  }
  const json machine = json::parse(base::read_file(file, size_t{16} << 20), nullptr, false);
  if (!machine.is_object()) fail(file, "expected a JSON object");
  Sources sources;
  sources.case_name = maybe_text(machine, "case").value_or(fs::absolute(folder).filename().string());
  sources.files = FileTree(folder / "root");
  // Named, since a loop over the items of a temporary would outlive it.
  const json environment = object_of(machine, "env");
  const json devices = object_of(machine, "devices");
  const json commands = object_of(machine, "commands");
  for (const auto& [name, value] : environment.items()) {
    if (value.is_string()) sources.environment[name] = value.get<std::string>();
  }
  const json user = object_of(machine, "user");
  sources.user = {.name = maybe_text(user, "name").value_or(""),
                  .groups = texts(user, "groups"),
                  .pending_groups = texts(user, "pending_groups")};
  for (const auto& [path, entry] : devices.items()) {
    if (!entry.is_object()) fail(file, "the device " + path + " is no object");
    const auto exists = entry.find("exists");
    sources.devices[path] = {.exists = exists != entry.end() && exists->is_boolean() && exists->get<bool>(),
                             .group = maybe_text(entry, "group").value_or(""),
                             .mode = maybe_text(entry, "mode").value_or(""),
                             .open_result = maybe_text(entry, "open_rw").value_or("")};
  }
  for (const auto& [line, entry] : commands.items()) {
    sources.commands[line] = command_of(folder, file, line, entry);
  }
  sources.libtorch = libtorch_of(machine);
  return sources;
}

}  // namespace cinnabar::hardware
