// The record of one run on disk: configuration, events, messages of the engine, outcome.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cinnabar/schema/resolve.h"

namespace cinnabar::jobs {

// $XDG_DATA_HOME/cinnabar, or ~/.local/share/cinnabar. Throws Error{Io} when neither variable is set.
std::filesystem::path default_workspace();

// WORKSPACE/runs, and WORKSPACE/bin for the folders of runs that were removed.
std::filesystem::path runs_folder(const std::filesystem::path& workspace);
std::filesystem::path bin_folder(const std::filesystem::path& workspace);

// The local time as a part of names: "20261231-235959".
std::string time_text();

class RunFolder {
 public:
  // Makes WORKSPACE/runs/TIME-NAME, mode 0700, never an existing one. Throws Error{Io}, Error{OutOfSpace}.
  RunFolder(const std::filesystem::path& workspace, const std::string& name);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.json"; }

  // config.json for the engine and config.toml for people. Attached texts become files that the options then name.
  void write_config(const schema::Schema& schema, schema::Config config) const;
  // Appends a line to events.jsonl or engine.log. Best effort: a full disk must not end a run that could still save.
  // False when the line is not there as a whole; readers pass over a part of one.
  bool append_event(std::string_view line) const noexcept { return append("events.jsonl", line, is_event_torn_); }
  bool append_log(std::string_view line) const noexcept { return append("engine.log", line, is_log_torn_); }
  // run.json (run_record.h), replaced as a whole.
  void write_state(const std::string& json) const;

 private:
  bool append(const char* file, std::string_view line, bool& is_torn) const noexcept;
  std::filesystem::path path_;
  // The last line of the file is a part of one: the next begins anew.
  mutable bool is_event_torn_ = false;
  mutable bool is_log_torn_ = false;
};

}  // namespace cinnabar::jobs
