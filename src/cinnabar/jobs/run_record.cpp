#include "cinnabar/jobs/run_record.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/run_id.h"
#include "cinnabar/schema/source.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxRecordBytes = size_t{8} << 20;
constexpr size_t kMaxName = 200;

// Empty when there is no such file or it cannot be read: a record is read as far as it goes.
std::string content_of(const fs::path& path) {
  try {
    return base::read_file(path, kMaxRecordBytes);
  } catch (const base::Error&) {
    return {};
  }
}

ordered_json object_of(const fs::path& path) {
  ordered_json json = ordered_json::parse(content_of(path), nullptr, false);
  return json.is_object() ? json : ordered_json::object();
}

std::string text_field(const ordered_json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<int64_t> whole_field(const ordered_json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

std::optional<double> number_field(const ordered_json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

void put(ordered_json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

std::optional<double> changed_s(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

ProcessIdentity process_of(const ordered_json& json) {
  const auto found = json.find("process");
  if (found == json.end() || !found->is_object()) return {};
  return {.pid = whole_field(*found, "pid").value_or(0),
          .started = whole_field(*found, "started").value_or(0),
          .boot = text_field(*found, "boot"),
          .host = text_field(*found, "host"),
          .pid_space = text_field(*found, "pid_space")};
}

// TIME-NAME: what follows the time of 15 characters.
std::string name_of_folder(const std::string& folder) {
  return folder.size() > 16 && folder[15] == '-' ? folder.substr(16) : folder;
}

}  // namespace

double now_s() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count()) / 1000.0;
}

std::string run_id(const std::string& folder_name) { return base::run_id(folder_name); }

std::string record_json(const RunRecord& record) {
  ordered_json json = {
      {"record", kRecordVersion}, {"id", record.id}, {"command", record.command}, {"state", record.state}};
  put(json, "name", record.name);
  put(json, "parent", record.parent);
  put(json, "version", record.program_version);
  put(json, "libtorch", record.libtorch);
  put(json, "folder", record.work_folder);
  if (record.started) json["started"] = *record.started;
  if (record.ended) json["ended"] = *record.ended;
  if (record.process.pid > 0) {
    json["process"] = {{"pid", record.process.pid},
                       {"started", record.process.started},
                       {"boot", record.process.boot},
                       {"host", record.process.host},
                       {"pid_space", record.process.pid_space}};
  }
  if (record.exit_status) {
    json["exit_status"] = *record.exit_status;
    json["saved"] = record.saved;
  }
  put(json, "message", record.message);
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace);
}

RunRecord read_record(const fs::path& folder) {
  const ordered_json json = object_of(folder / "run.json");
  RunRecord record;
  record.folder = folder.filename().string();
  record.id = run_id(record.folder);
  record.name = content_of(folder / "name.txt");
  while (!record.name.empty() && record.name.back() == '\n') record.name.pop_back();
  if (record.name.empty()) record.name = text_field(json, "name");
  if (record.name.empty()) record.name = name_of_folder(record.folder);
  record.command = text_field(json, "command");
  if (record.command.empty()) record.command = text_field(object_of(folder / "config.json"), "command");
  record.state = text_field(json, "state");
  if (record.state.empty()) record.state = "running";
  record.started = number_field(json, "started");
  if (!record.started) record.started = changed_s(folder / "config.json");
  if (!record.started) record.started = changed_s(folder);
  record.ended = number_field(json, "ended");
  record.exit_status = whole_field(json, "exit_status");
  // Records before the number had no time of the end; their last change was the end.
  if (!record.ended && record.exit_status) record.ended = changed_s(folder / "run.json");
  record.message = text_field(json, "message");
  record.program_version = text_field(json, "version");
  record.record_version = whole_field(json, "record").value_or(0);
  record.libtorch = text_field(json, "libtorch");
  record.work_folder = text_field(json, "folder");
  record.parent = text_field(json, "parent");
  record.process = process_of(json);
  return record;
}

RecordedConfig read_recorded_config(const fs::path& folder) {
  RecordedConfig config;
  config.toml = content_of(folder / "config.toml");
  const ordered_json json = object_of(folder / "config.json");
  const auto values = json.find("values");
  if (values == json.end() || !values->is_object()) return config;
  for (const auto& [name, value] : values->items()) {
    // Options are plain values or lists of such; anything deeper is none of ours, and writing recurses.
    const bool is_flat =
        std::none_of(value.begin(), value.end(), [](const auto& item) { return item.is_structured(); });
    if (schema::is_secret_option(name) || value.is_object() || (value.is_array() && !is_flat)) continue;
    config.values.emplace_back(name, value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  }
  return config;
}

void write_run_name(const fs::path& folder, const std::string& name) {
  const bool has_control =
      std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  // What JSON takes as text is UTF-8.
  bool is_text = true;
  try {
    [[maybe_unused]] const std::string checked = ordered_json(name).dump();
  } catch (const ordered_json::exception&) {
    is_text = false;
  }
  if (name.empty() || name.size() > kMaxName || has_control || !is_text) {
    throw base::Error(base::ErrorCode::Usage, "a name of a run has 1 to " + std::to_string(kMaxName) +
                                                  " bytes of UTF-8 without control characters");
  }
  base::write_file(folder / "name.txt", name + "\n");
}

}  // namespace cinnabar::jobs
