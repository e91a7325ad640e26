#include "cinnabar/jobs/store_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/process.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/jobs/store_schema.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kLockLimit(20);

// One process at a time makes, migrates or replaces the file. The lock goes with the process, however that ends.
class StoreLock {
 public:
  StoreLock(const fs::path& workspace, const Patience& patience) {
    const fs::path file = workspace / ".runs.lock";
    lock_ = base::Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock_.is_open()) fail(file, std::strerror(errno));
    const auto begin = std::chrono::steady_clock::now();
    bool is_told = !patience.tell;
    while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) fail(file, std::strerror(errno));
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (waited > kLockLimit) fail(file, "another program has held it for too long");
      if (!is_told && waited >= patience.tell_after) {
        is_told = true;
        patience.tell("Another program makes or mends the store of runs and holds " + file.string() +
                      "; waiting for it, at most " + std::to_string(kLockLimit.count()) + " s.");
      }
      if (patience.stop != nullptr && *patience.stop) fail(file, "the run ended meanwhile");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

 private:
  [[noreturn]] static void fail(const fs::path& file, const std::string& why) {
    throw base::Error(base::ErrorCode::Io, "cannot lock " + file.string() + ": " + why);
  }
  base::Descriptor lock_;
};

// Made here, for its mode. Only a new file is opened and closed: closing one that SQLite has open in this process would
// drop SQLite's locks.
void ensure_file(const fs::path& path) {
  const base::Descriptor made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.is_open() && errno != EEXIST) throw base::write_error("cannot make", path, errno);
}

void configure(Database& database) {
  database.run("PRAGMA foreign_keys = ON");
  database.run("PRAGMA cell_size_check = ON");
  database.run("PRAGMA temp_store = MEMORY");
}

void configure_writer(Database& database) {
  Statement mode(database, "PRAGMA journal_mode");
  const bool is_wal = mode.step() && mode.text(0) == "wal";
  mode.reset();
  // File systems without shared memory keep a rollback journal, which is as safe and slower.
  if (!is_wal) database.run("PRAGMA journal_mode = WAL");
  // With a WAL, a power cut may lose the last transactions but tears nothing; the run folders hold what is lost.
  database.run("PRAGMA synchronous = NORMAL");
  database.run("PRAGMA journal_size_limit = 16777216");
}

void back_up(Database& database, const fs::path& path, std::vector<std::string>& notes) {
  const fs::path copy = path.string() + ".version-" + std::to_string(version_of_store(database));
  const fs::path temporary = copy.string() + "." + std::to_string(::getpid()) + ".tmp";
  std::error_code error;
  fs::remove(temporary, error);
  ensure_file(temporary);
  database.execute("VACUUM INTO ?1", temporary.string());
  fs::rename(temporary, copy, error);
  if (error) throw base::Error(base::ErrorCode::Io, "cannot make " + copy.string() + ": " + error.message());
  notes.push_back("The store of runs was brought to the present version; the old one is kept as " + copy.string() +
                  ".");
}

OpenStore try_open(const fs::path& workspace, const Patience& patience, std::vector<std::string>& notes) {
  const fs::path path = store_path(workspace);
  ensure_file(path);
  if (!fs::is_regular_file(path)) {
    throw base::Error(base::ErrorCode::Io, path.string() + " is no file; move it away, it is the place of the store");
  }
  OpenStore store{Database(path, patience)};
  configure(store.database);
  StoreState state = state_of_store(store.database);
  check_end_of_store(store.database, path);
  if (state == StoreState::New || state == StoreState::Older) {
    const StoreLock lock(workspace, patience);
    state = state_of_store(store.database);
    if (state == StoreState::Older) back_up(store.database, path, notes);
    if (state == StoreState::New) configure_writer(store.database);
    if (state == StoreState::New || state == StoreState::Older) bring_to_version(store.database);
  }
  if (state == StoreState::Newer) {
    store.is_newer = true;
    store.database.run("PRAGMA query_only = ON");
    notes.push_back("The store of runs is of version " + std::to_string(version_of_store(store.database)) +
                    ", made by a newer Cinnabar; this one knows version " + std::to_string(kStoreVersion) +
                    ". It shows what it knows and changes nothing.");
  } else {
    configure_writer(store.database);
  }
  return store;
}

// What is wrong with the file now; empty when nothing is.
std::string damage_of(const fs::path& path) {
  try {
    Database database(path, {});
    state_of_store(database);
    check_store(database);
    return {};
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
    return error.message();
  }
}

}  // namespace

fs::path store_path(const fs::path& workspace) { return workspace / "runs.sqlite"; }

bool set_store_aside(const fs::path& workspace, const std::string& reason, std::vector<std::string>& notes,
                     const Patience& patience) {
  const StoreLock lock(workspace, patience);
  const fs::path path = store_path(workspace);
  std::error_code error;
  if (!fs::exists(path, error)) return true;
  if (damage_of(path).empty()) return false;
  std::string aside = path.string() + ".damaged-" + time_text();
  for (int number = 2; fs::exists(aside, error); ++number) {
    aside = path.string() + ".damaged-" + time_text() + "-" + std::to_string(number);
  }
  // The log first: a log that stays behind alone belongs to no other file, and SQLite discards it with an empty one.
  for (const char* part : {"-wal", "-shm", ""}) {
    if (!fs::exists(path.string() + part, error)) continue;
    fs::rename(path.string() + part, aside + part, error);
    if (error) {
      throw base::Error(base::ErrorCode::Io,
                        "cannot move the damaged " + path.string() + part + ": " + error.message());
    }
  }
  notes.push_back("The store of runs was damaged (" + reason + "). It was moved to " + aside +
                  ", and a new one is made from the folders of the runs.");
  return true;
}

OpenStore open_store(const fs::path& workspace, const Patience& patience, std::vector<std::string>& notes) {
  std::error_code error;
  fs::create_directories(workspace, error);
  if (error) {
    throw base::Error(base::ErrorCode::Io, "cannot make the workspace " + workspace.string() + ": " + error.message());
  }
  for (int attempt = 0;; ++attempt) {
    try {
      return try_open(workspace, patience, notes);
    } catch (const SqliteError& failed) {
      if (!failed.is_damage() || attempt == 2) throw;
      set_store_aside(workspace, failed.message(), notes, patience);
    }
  }
}

}  // namespace cinnabar::jobs
