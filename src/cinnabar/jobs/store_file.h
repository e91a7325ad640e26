// The file of the store of runs: opens it, makes it, brings it to the present version, and puts a damaged one aside.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/jobs/sqlite.h"

namespace cinnabar::jobs {

struct OpenStore {
  Database database;
  bool is_newer = false;  // made by a newer program: only read
};

// WORKSPACE/runs.sqlite
std::filesystem::path store_path(const std::filesystem::path& workspace);

// Sentences for the user go to `notes`. A damaged store is moved to runs.sqlite.damaged-TIME and a new one is begun; an
// older one is copied to runs.sqlite.version-N before it is changed. Several processes may call this at once. Throws
// Error when there can be no store here: read-only or full disk, locked for too long.
OpenStore open_store(const std::filesystem::path& workspace, const Patience& patience, std::vector<std::string>& notes);

// After `reason`, which is_damage(), was found in use: true when the store was put aside, or had been by another
// process. False when the file is whole after all. Nobody of this process may have it open.
bool set_store_aside(const std::filesystem::path& workspace, const std::string& reason, std::vector<std::string>& notes,
                     const Patience& patience = {});

}  // namespace cinnabar::jobs
