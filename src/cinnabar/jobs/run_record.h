// What the folder of a run says about it (run.json, config.json, config.toml, name.txt), to write and to read. The
// folder is the record; the store of runs is made from it and can be made again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/jobs/process_identity.h"

namespace cinnabar::jobs {

// The version of run.json that this program writes. Readers take what they know of any version.
constexpr int64_t kRecordVersion = 2;

struct RunRecord {
  std::string id{};      // 16 hex digits
  std::string folder{};  // name of the folder of the run
  std::string name{};
  std::string command{};
  std::string state{};              // running, done, interrupted, failed
  std::optional<double> started{};  // seconds since 1970
  std::optional<double> ended{};
  std::optional<int64_t> exit_status{};
  std::string message{};
  std::string program_version{};
  int64_t record_version = 0;  // 0: not readable, or older than the number
  std::string libtorch{};
  std::string work_folder{};  // relative paths of the options start here
  std::string parent{};       // id of the run that this one continues
  ProcessIdentity process{};  // of the program that watches over the run
  std::vector<std::string> saved{};
};

struct RecordedConfig {
  std::string toml{};
  std::vector<std::pair<std::string, std::string>> values{};  // option -> value as JSON
};

// The id of a run follows from the name of its folder, so that it is the same whenever the store is made anew.
std::string run_id(const std::string& folder_name);

// run.json.
std::string record_json(const RunRecord& record);
// Never fails for what a folder holds: what is missing or unreadable stays empty, the time of start comes from the
// files.
RunRecord read_record(const std::filesystem::path& folder);
RecordedConfig read_recorded_config(const std::filesystem::path& folder);

// A name that a user gave later. Throws Error{Usage} for one that is empty, too long or holds control characters.
void write_run_name(const std::filesystem::path& folder, const std::string& name);

double now_s();

}  // namespace cinnabar::jobs
