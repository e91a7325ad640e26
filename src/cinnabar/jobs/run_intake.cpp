#include "cinnabar/jobs/run_intake.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <map>

#include "cinnabar/base/process.h"
#include "cinnabar/jobs/event_intake.h"
#include "cinnabar/jobs/file_facts.h"
#include "cinnabar/jobs/run_record.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

namespace {

// A transaction takes at most so many bytes of events: other programs get their turn, and little is done twice.
constexpr size_t kBatchBytes = size_t{1} << 20;
// A run on a machine that cannot be seen from here counts as crashed after so much silence.
constexpr double kSilence_s = 6 * 3600.0;
// The record is made right after its folder; one that is missing or cannot be read for longer is damaged.
constexpr double kRecordMade_s = 60.0;

// Up to kBatchBytes from `from` on, cut after the last line that is complete. A line without end is still being
// written, or was torn.
std::string next_lines(const fs::path& file, int64_t from) {
  const base::Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.is_open()) return {};
  std::string text(kBatchBytes, '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t count = ::pread(in.get(), text.data() + have, text.size() - have, from + static_cast<int64_t>(have));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    have += static_cast<size_t>(count);
  }
  const size_t end = text.rfind('\n', have == 0 ? 0 : have - 1);
  // One line longer than a batch is no event of ours: it is passed over.
  if (have == text.size() && end == std::string::npos) return text;
  text.resize(have == 0 || end == std::string::npos ? 0 : end + 1);
  return text;
}

// A row that was made before run.json was there, and a record that has it now. Columns that events fill are not
// touched.
bool is_to_fill(Database& database, int64_t run, const RunRecord& record) {
  if (record.record_version == 0) return false;
  return database.integer("SELECT 1 FROM runs WHERE run = ?1 AND record_version = 0", run).has_value();
}

int64_t ensure_run(Database& database, const RunRecord& record, const fs::path& folder) {
  const auto known = database.integer("SELECT run FROM runs WHERE id = ?1", record.id);
  if (known && !is_to_fill(database, *known, record)) return *known;
  const RecordedConfig config = read_recorded_config(folder);
  Transaction transaction(database);
  database.execute(
      "INSERT INTO runs(id, folder, name, command, state, started, program_version, record_version, libtorch,"
      " work_folder, pid, pid_started, boot, host, pid_space, config_toml, parent)"
      " VALUES(?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
      " ON CONFLICT(id) DO UPDATE SET name = excluded.name, command = excluded.command, started = excluded.started,"
      " program_version = excluded.program_version, record_version = excluded.record_version,"
      " libtorch = excluded.libtorch, work_folder = excluded.work_folder, pid = excluded.pid,"
      " pid_started = excluded.pid_started, boot = excluded.boot, host = excluded.host,"
      " pid_space = excluded.pid_space, config_toml = excluded.config_toml, parent = coalesce(parent, excluded.parent)"
      " WHERE record_version = 0",
      record.id, record.folder, record.name, record.command, record.started, record.program_version,
      record.record_version, record.libtorch, record.work_folder, record.process.pid, record.process.started,
      record.process.boot, record.process.host, record.process.pid_space, config.toml,
      record.parent.empty() ? std::nullopt : std::optional(record.parent));
  const int64_t run = database.integer("SELECT run FROM runs WHERE id = ?1", record.id).value();
  Statement insert(database, "INSERT OR REPLACE INTO config(run, option, value) VALUES(?1, ?2, ?3)");
  for (const auto& [option, value] : config.values) insert.bind(run, option, value).step();
  transaction.commit();
  return run;
}

// True when there was something.
bool take_batch(Database& database, int64_t run, const fs::path& events, const std::string& work_folder,
                Intake& intake) {
  // A look without a lock first: most calls find nothing new.
  const char* place_of = "SELECT events_taken FROM runs WHERE run = ?1";
  const int64_t seen = database.integer(place_of, run).value_or(0);
  struct stat status{};
  if (::stat(events.c_str(), &status) != 0 || status.st_size <= seen) return false;
  Transaction transaction(database);
  const int64_t from = database.integer(place_of, run).value_or(0);
  const std::string lines = next_lines(events, from);
  if (lines.empty()) return false;
  EventIntake intake_of_events(database, run, work_folder);
  size_t start = 0;
  while (start < lines.size()) {
    const size_t end = std::min(lines.find('\n', start), lines.size());
    intake_of_events.take(from + static_cast<int64_t>(start), std::string_view(lines).substr(start, end - start));
    ++intake.lines;
    start = end + 1;
  }
  intake_of_events.finish();
  database.execute("UPDATE runs SET events_taken = ?2 WHERE run = ?1", run, from + static_cast<int64_t>(lines.size()));
  transaction.commit();
  return true;
}

// True when it was another before.
bool take_state(Database& database, int64_t run, const RunRecord& record, const std::string& state, bool is_removed) {
  // Only when something differs, so that looking at runs does not write.
  const auto same = database.integer(
      "SELECT 1 FROM runs WHERE run = ?1 AND state = ?2 AND name = ?3 AND is_removed = ?4 AND exit_status IS ?5", run,
      state, record.name, is_removed, record.exit_status);
  if (same) return false;
  Transaction transaction(database);
  database.execute(
      "UPDATE runs SET state = ?2, name = ?3, is_removed = ?4, exit_status = ?5, message = ?6,"
      " ended = CASE WHEN ?2 = 'running' THEN NULL ELSE coalesce(?7, event_time, started) END WHERE run = ?1",
      run, state, record.name, is_removed, record.exit_status, record.message, record.ended);
  transaction.commit();
  return true;
}

double silent_s(const fs::path& folder) {
  double changed = 0;
  for (const char* file : {"events.jsonl", "run.json", "config.json"}) {
    struct stat status{};
    if (::stat((folder / file).c_str(), &status) == 0) {
      changed = std::max(changed, static_cast<double>(status.st_mtim.tv_sec));
    }
  }
  return now_s() - changed;
}

}  // namespace

SettledState settled_state(Database& database, int64_t run, const fs::path& folder) {
  // Read in this order: a run that ends just now is either still alive, or its record says so.
  const Liveness there = liveness(read_record(folder).process);
  const RunRecord record = read_record(folder);
  if (record.state != "running") return {record.state};
  if (there == Liveness::Alive) return {"running"};
  const double patience_s = record.record_version == 0 ? kRecordMade_s : kSilence_s;
  if (there == Liveness::Unknown && silent_s(folder) < patience_s) return {"running", false};
  // The last word may be in the events although it could not be written into run.json any more (disk full).
  Statement last(database,
                 "SELECT type FROM events WHERE run = ?1 AND type IN ('result', 'error') ORDER BY place DESC");
  last.bind(run);
  if (last.step()) return {last.text(0) == "result" ? "done" : "failed"};
  return {"crashed"};
}

Intake take_in(Database& database, const fs::path& folder, const IntakeOptions& options) {
  // First the state, then the events: a state that is final then has all its events before it.
  const RunRecord record = read_record(folder);
  Intake intake;
  intake.run = ensure_run(database, record, folder);
  while (take_batch(database, intake.run, folder / "events.jsonl", record.work_folder, intake)) {
    if (options.is_over()) return intake;
  }
  std::string state = record.state;
  if (state == "running") {
    state = settled_state(database, intake.run, folder).state;
    // It ended meanwhile: its last events come with the next call.
    if (state != "running" && read_record(folder).state != "running") state = "running";
  }
  const bool is_new = take_state(database, intake.run, record, state, options.is_removed);
  intake.has_crashed = is_new && state == "crashed";
  intake.is_complete = true;
  return intake;
}

bool complete_files(Database& database, int64_t run, const std::function<bool()>& is_over) {
  struct Open {
    std::string path;
    std::optional<int64_t> bytes;
    std::optional<int64_t> modified_ns;
  };
  std::vector<Open> open;
  Statement select(database,
                   "SELECT path, bytes, modified_ns FROM files WHERE run = ?1 AND sha256 IS NULL AND note IS NULL");
  select.bind(run);
  while (select.step()) open.push_back({select.text(0), select.maybe_integer(1), select.maybe_integer(2)});
  select.reset();
  for (const Open& file : open) {
    const auto facts = facts_of(file.path);
    const bool is_same = facts && facts->bytes == file.bytes && facts->modified_ns == file.modified_ns;
    const char* note_it = "UPDATE files SET note = ?3 WHERE run = ?1 AND path = ?2 AND sha256 IS NULL";
    if (!is_same) {
      database.execute(note_it, run, file.path, facts ? "changed since it was saved" : "gone");
      continue;
    }
    const auto hash = hash_of(file.path, is_over);
    if (is_over()) return false;
    if (!hash || facts_of(file.path) != facts) {
      database.execute(note_it, run, file.path, hash ? "changed since it was saved" : "could not be read");
      continue;
    }
    // Only if it is still the file that was measured: it may have been saved again meanwhile.
    database.execute("UPDATE files SET sha256 = ?3 WHERE run = ?1 AND path = ?2 AND bytes IS ?4 AND modified_ns IS ?5",
                     run, file.path, *hash, file.bytes, file.modified_ns);
  }
  return true;
}

}  // namespace cinnabar::jobs
