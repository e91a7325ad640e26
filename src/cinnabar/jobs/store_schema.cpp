#include "cinnabar/jobs/store_schema.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>

namespace cinnabar::jobs {

namespace {

// "Cinb", PRAGMA application_id.
constexpr int64_t kApplication = 0x43696e62;

// run: our number inside the file; id: what users see. events_taken: bytes of events.jsonl that are in the tables.
// A value of metrics is a number or the text "nan". Times are seconds since 1970.
constexpr const char* kVersion1 = R"(
CREATE TABLE runs(
  run INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, folder TEXT NOT NULL, name TEXT NOT NULL, command TEXT NOT NULL,
  state TEXT NOT NULL, started REAL, ended REAL, exit_status INTEGER, message TEXT,
  program_version TEXT, record_version INTEGER, libtorch TEXT, work_folder TEXT,
  pid INTEGER, pid_started INTEGER, boot TEXT, host TEXT, pid_space TEXT,
  config_toml TEXT, step INTEGER, total INTEGER, epoch INTEGER, epochs INTEGER, loss, average_loss, event_time REAL,
  events_taken INTEGER NOT NULL DEFAULT 0);
CREATE INDEX runs_by_start ON runs(started);
CREATE TABLE config(
  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, option TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(run, option)) WITHOUT ROWID;
CREATE TABLE series(series INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE metrics(
  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, series INTEGER NOT NULL REFERENCES series,
  step INTEGER NOT NULL, value, time REAL, PRIMARY KEY(run, series, step)) WITHOUT ROWID;
CREATE TABLE events(
  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, place INTEGER NOT NULL, type TEXT NOT NULL, time REAL,
  content TEXT NOT NULL, PRIMARY KEY(run, place)) WITHOUT ROWID;
CREATE TABLE files(
  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, path TEXT NOT NULL, kind TEXT NOT NULL, step INTEGER,
  epoch INTEGER, time REAL, bytes INTEGER, modified_ns INTEGER, sha256 TEXT, note TEXT, PRIMARY KEY(run, path))
  WITHOUT ROWID;
)";

// What a run was made from, which run it continues, and the bin.
constexpr const char* kVersion2 = R"(
ALTER TABLE runs ADD COLUMN parent TEXT;
ALTER TABLE runs ADD COLUMN is_removed INTEGER NOT NULL DEFAULT 0;
CREATE TABLE inputs(
  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, kind TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT,
  note TEXT, PRIMARY KEY(run, kind, path)) WITHOUT ROWID;
CREATE INDEX inputs_by_hash ON inputs(sha256);
CREATE INDEX files_by_path ON files(path);
)";

constexpr std::array<const char*, kStoreVersion> kSteps = {kVersion1, kVersion2};

bool has_table(Database& database, const char* name) {
  return database.integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1", name) == 1;
}

[[noreturn]] void no_store(const std::string& why) { throw SqliteError(SQLITE_CORRUPT, why); }

}  // namespace

int version_of_store(Database& database) {
  return static_cast<int>(database.integer("PRAGMA user_version").value_or(0));
}

StoreState state_of_store(Database& database) {
  const int version = version_of_store(database);
  const bool is_empty = database.integer("SELECT count(*) FROM sqlite_master") == 0;
  if (version == 0 && is_empty) return StoreState::New;
  if (database.integer("PRAGMA application_id") != kApplication) no_store("this is a database of another program");
  for (const char* table : {"runs", "config", "series", "metrics", "events", "files"}) {
    // A newer version may have moved things; what is missing is then left out when read.
    if (version <= kStoreVersion && !has_table(database, table))
      no_store(std::string("the table ") + table + " is missing");
  }
  if (version < 1) no_store("it has no version");
  if (version > kStoreVersion) return StoreState::Newer;
  return version < kStoreVersion ? StoreState::Older : StoreState::Current;
}

void check_store(Database& database) {
  Statement check(database, "PRAGMA integrity_check(1)");
  const std::string found = check.step() ? check.text(0) : "no answer";
  if (found != "ok") no_store(found);
}

void check_end_of_store(Database& database, const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  const int64_t page = database.integer("PRAGMA page_size").value_or(4096);
  if (!error && size % static_cast<uintmax_t>(page) != 0) check_store(database);
}

void bring_to_version(Database& database, int target) {
  Transaction transaction(database);
  for (int version = version_of_store(database); version < target; ++version) {
    database.run(kSteps.at(static_cast<size_t>(version)));
    // Pragmas take no bound values; these are numbers of ours.
    database.run(("PRAGMA user_version = " + std::to_string(version + 1)).c_str());
  }
  database.run(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
  transaction.commit();
}

std::string columns_of(Database& database, const std::string& table, const std::vector<std::string>& wanted) {
  std::vector<std::string> present;
  Statement statement(database, "SELECT name FROM pragma_table_info(?1)");
  statement.bind(table);
  while (statement.step()) present.push_back(statement.text(0));
  if (present.empty()) return {};
  std::string list;
  for (const std::string& column : wanted) {
    const bool is_present = std::find(present.begin(), present.end(), column) != present.end();
    list += (list.empty() ? "" : ", ") + (is_present ? column : "NULL AS " + column);
  }
  return list;
}

}  // namespace cinnabar::jobs
