// The tables of the store of runs, and the way from each earlier version to the present one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/jobs/sqlite.h"

namespace cinnabar::jobs {

// Kept in the file as PRAGMA user_version. Each version adds to the one before and takes nothing away.
constexpr int kStoreVersion = 2;

enum class StoreState { New, Older, Current, Newer };

// Throws SqliteError that is_damage() when this is no store of runs or a table of it is missing.
StoreState state_of_store(Database& database);
// From nothing or from an older version, in one transaction. Does nothing when another process was faster. `target` is
// for tests that need an older store.
void bring_to_version(Database& database, int target = kStoreVersion);

int version_of_store(Database& database);

// Reads the whole file. Throws SqliteError that is_damage() when something in it does not fit.
void check_store(Database& database);
// check_store, when the file ends within a page: SQLite takes what is missing for zeros.
void check_end_of_store(Database& database, const std::filesystem::path& file);

// "name, NULL AS started, ...": those of `wanted` that the table lacks are NULL, so that a store of another version can
// be read. Empty when there is no such table. `table` and `wanted` are names of ours.
std::string columns_of(Database& database, const std::string& table, const std::vector<std::string>& wanted);

}  // namespace cinnabar::jobs
