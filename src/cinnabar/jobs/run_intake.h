// From the folder of a run into the tables of the store: what is new in its events and how it stands. Every step may be
// cut off anywhere and done again by any process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "cinnabar/jobs/sqlite.h"

namespace cinnabar::jobs {

struct IntakeOptions {
  bool is_removed = false;                               // the folder lies in the bin
  std::function<bool()> is_over = [] { return false; };  // asked between transactions: true ends the work early
};

struct Intake {
  int64_t run = 0;           // number of the run in the store
  bool is_complete = false;  // all that the folder holds now is in the store
  bool has_crashed = false;  // this call found that the run's process is gone
  int64_t lines = 0;         // of events, taken by this call
};

// Throws SqliteError; what was committed before stays.
Intake take_in(Database& database, const std::filesystem::path& folder, const IntakeOptions& options);

// Adds sizes and hashes of the run's files that have none yet. A file that was changed or removed since it was saved
// gets a note instead. True when nothing is left to do.
bool complete_files(Database& database, int64_t run, const std::function<bool()>& is_over);

// The state of a run whose last known one is "running": "running" while its process may be there; else how its events
// say that it ended, or "crashed". `is_certain` is false when its process cannot be seen from here.
struct SettledState {
  std::string state;
  bool is_certain = true;
};
SettledState settled_state(Database& database, int64_t run, const std::filesystem::path& folder);

}  // namespace cinnabar::jobs
