#include "cinnabar/jobs/run_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "cinnabar/base/error.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/jobs/run_intake.h"
#include "cinnabar/jobs/run_record.h"
#include "cinnabar/jobs/store_schema.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kRunColumns = {"id",
                                              "folder",
                                              "name",
                                              "command",
                                              "state",
                                              "started",
                                              "ended",
                                              "exit_status",
                                              "message",
                                              "program_version",
                                              "record_version",
                                              "libtorch",
                                              "work_folder",
                                              "parent",
                                              "step",
                                              "total",
                                              "epoch",
                                              "epochs",
                                              "loss",
                                              "average_loss",
                                              "is_removed",
                                              "pid",
                                              "pid_started",
                                              "boot",
                                              "host",
                                              "pid_space"};

RunRow row_of(const Statement& from) {
  RunRow row;
  row.id = from.text(0);
  row.folder = from.text(1);
  row.name = from.text(2);
  row.command = from.text(3);
  row.state = from.text(4);
  row.started = from.maybe_number(5);
  row.ended = from.maybe_number(6);
  row.exit_status = from.maybe_integer(7);
  row.message = from.text(8);
  row.program_version = from.text(9);
  row.record_version = from.integer(10);
  row.libtorch = from.text(11);
  row.work_folder = from.text(12);
  row.parent = from.text(13);
  row.step = from.maybe_integer(14);
  row.total = from.maybe_integer(15);
  row.epoch = from.maybe_integer(16);
  row.epochs = from.maybe_integer(17);
  row.loss = from.maybe_number(18);
  row.average_loss = from.maybe_number(19);
  row.is_removed = from.integer(20) != 0;
  row.host = from.text(24);
  if (row.state == "running") {
    const ProcessIdentity process{.pid = from.integer(21),
                                  .started = from.integer(22),
                                  .boot = from.text(23),
                                  .host = row.host,
                                  .pid_space = from.text(25)};
    const Liveness there = liveness(process);
    row.is_certain = there == Liveness::Alive;
    // A store that cannot be written still says the truth.
    if (there == Liveness::Gone) row.state = "crashed";
  }
  return row;
}

std::vector<RunRow> rows(Database& database, const std::string& rest, const std::function<void(Statement&)>& bind) {
  std::vector<RunRow> result;
  const std::string columns = columns_of(database, "runs", kRunColumns);
  if (columns.empty()) return result;
  Statement statement(database, "SELECT " + columns + " FROM runs " + rest);
  bind(statement);
  while (statement.step()) result.push_back(row_of(statement));
  return result;
}

std::vector<fs::path> folders_in(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) folders.push_back(at->path());
  }
  // Names begin with the time: the newest first.
  std::sort(folders.begin(), folders.end(), std::greater<>());
  return folders;
}

// From so many new runs on, it is said that they are taken in, and how far that is.
constexpr size_t kTellFrom = 200;
constexpr size_t kTellEvery = 2000;
// From so many on, kBatch of them are one transaction.
constexpr size_t kBatchFrom = 20;
constexpr size_t kBatch = 100;
constexpr off_t kLongEvents = off_t{1} << 20;
// So long a folder without run.json counts as one of a run that is just starting: it has nothing to tell yet.
constexpr double kStart_s = 10.0;

bool is_being_made(const fs::path& folder) {
  struct stat status{};
  if (::stat((folder / "run.json").c_str(), &status) == 0 || ::stat(folder.c_str(), &status) != 0) return false;
  const double age_s = now_s() - static_cast<double>(status.st_mtim.tv_sec);
  return age_s > -1.0 && age_s < kStart_s;
}

bool has_long_events(const fs::path& folder) {
  struct stat status{};
  return ::stat((folder / "events.jsonl").c_str(), &status) == 0 && status.st_size > kLongEvents;
}

// Renamed, without that the store was told of it (a program that died in between).
bool is_renamed(const fs::path& folder, const std::string& known) {
  std::error_code error;
  return fs::exists(folder / "name.txt", error) && read_record(folder).name != known;
}

std::string list_of(const std::vector<RunRow>& found) {
  std::string text;
  const size_t shown = std::min<size_t>(found.size(), 10);
  for (size_t i = 0; i < shown; ++i)
    text += "\n  " + found[i].id + "  " + found[i].name + "  (" + found[i].folder + ")";
  if (found.size() > shown) text += "\n  and " + std::to_string(found.size() - shown) + " more";
  return text;
}

}  // namespace

RunStore::RunStore(fs::path workspace, std::function<void(const std::string&)> tell)
    : workspace_(fs::absolute(workspace)), tell_(std::move(tell)) {
  try {
    open();
    guarded([&] { catch_up(); });
  } catch (const base::Error& error) {
    use_memory(error.message());
  }
}

void RunStore::open() { store_.emplace(open_store(workspace_, {.tell = tell_}, notes_)); }

void RunStore::use_memory(const std::string& why) {
  why_memory_ = why;
  store_.emplace(OpenStore{Database()});
  bring_to_version(store_->database);
  notes_.push_back("The store of runs " + store_path(workspace_).string() + " cannot be used (" + why +
                   "). What is shown was read from the folders of the runs.");
  catch_up();
}

void RunStore::recover(const SqliteError& error) {
  if (!error.is_damage() || !why_memory_.empty()) {
    throw base::Error(error.code(), "the store of runs " + store_path(workspace_).string() + ": " + error.message());
  }
  const std::string reason = error.message();
  store_.reset();
  try {
    set_store_aside(workspace_, reason, notes_, {.tell = tell_});
    open();
    catch_up();
  } catch (const base::Error& failed) {
    use_memory(failed.message());
  }
}

int64_t RunStore::number_of(const std::string& id) {
  return store_->database.integer("SELECT run FROM runs WHERE id = ?1", id).value_or(-1);
}

void RunStore::catch_up() {
  Database& database = store_->database;
  // Only runs that may have news are looked into: folder -> name of those that have none, in runs/ and in the bin.
  std::map<std::string, std::string> settled[2];
  std::set<std::string> present;
  Statement known(
      database, "SELECT folder, state, name, command, " + columns_of(database, "runs", {"is_removed"}) + " FROM runs");
  while (known.step()) {
    present.insert(known.text(0));
    // Without its command, a row was made before the record was complete.
    if (known.text(1) == "running" || known.text(1) == "crashed" || known.text(3).empty()) continue;
    settled[known.integer(4) != 0 ? 1 : 0][known.text(0)] = known.text(2);
  }
  known.reset();
  size_t unknown = 0;
  std::vector<std::pair<fs::path, bool>> folders;
  for (const bool is_removed : {false, true}) {
    for (const fs::path& folder : folders_in(is_removed ? bin_folder(workspace_) : runs_folder(workspace_))) {
      const std::string name = folder.filename().string();
      const auto found = settled[is_removed ? 1 : 0].find(name);
      if (found != settled[is_removed ? 1 : 0].end() && !is_renamed(folder, found->second)) continue;
      if (is_being_made(folder)) continue;
      unknown += present.contains(name) ? 0 : 1;
      folders.emplace_back(folder, is_removed);
    }
  }
  if (store_->is_newer) folders.clear();
  const bool has_crashed = take_all(folders, unknown);
  // Whatever ended the run, a power cut perhaps, may have hit the store as well: it is read once as a whole.
  if (has_crashed && why_memory_.empty()) check_store(database);
  if (unknown > 0 && store_->is_newer) {
    notes_.push_back(std::to_string(unknown) + " runs are not in that store yet; the newer Cinnabar takes them in.");
  }
}

bool RunStore::take_all(const std::vector<std::pair<fs::path, bool>>& folders, size_t new_count) {
  if (new_count >= kTellFrom && tell_) {
    tell_("Taking " + std::to_string(new_count) + " runs into the store of runs, " + store_path(workspace_).string() +
          "; later calls find them there.");
  }
  bool has_crashed = false;
  std::optional<Transaction> batch;
  size_t count = 0;
  for (const auto& [folder, is_removed] : folders) {
    // Each transaction costs more than what a run writes. Long events have transactions of their own, so that other
    // programs get their turn.
    const bool is_batched = new_count >= kBatchFrom && !has_long_events(folder);
    if (batch && (!is_batched || count % kBatch == 0)) {
      batch->commit();
      batch.reset();
    }
    if (is_batched && !batch) batch.emplace(store_->database);
    has_crashed = take_in(store_->database, folder, {.is_removed = is_removed}).has_crashed || has_crashed;
    if (++count % kTellEvery == 0 && tell_ && new_count >= kTellFrom)
      tell_(std::to_string(count) + " of " + std::to_string(folders.size()) + " are in the store.");
  }
  if (batch) batch->commit();
  return has_crashed;
}

std::vector<RunRow> RunStore::runs(const RunFilter& filter) {
  return guarded([&] {
    std::vector<RunRow> found = rows(store_->database, "ORDER BY started DESC, folder DESC", [](Statement&) {});
    std::erase_if(found, [&](const RunRow& row) {
      return row.is_removed != filter.is_removed || (!filter.state.empty() && row.state != filter.state);
    });
    if (filter.limit >= 0 && found.size() > static_cast<size_t>(filter.limit)) {
      found.resize(static_cast<size_t>(filter.limit));
    }
    return found;
  });
}

RunRow RunStore::find(const std::string& key, SeveralFit several, LookIn where) {
  std::vector<RunRow> all =
      guarded([&] { return rows(store_->database, "ORDER BY started DESC, folder DESC", [](Statement&) {}); });
  std::vector<RunRow> found;
  const bool is_in_bin = where == LookIn::Bin;
  const auto take = [&](const auto& fits) {
    if (found.empty()) std::copy_if(all.begin(), all.end(), std::back_inserter(found), fits);
  };
  take([&](const RunRow& row) { return row.id == key || row.folder == key; });
  if (found.empty() && key == "latest") {
    take([&](const RunRow& row) { return row.is_removed == is_in_bin; });
    if (found.size() > 1) found.resize(1);
  }
  if (found.empty()) {
    take([&](const RunRow& row) { return row.name == key && row.is_removed == is_in_bin; });
    take([&](const RunRow& row) { return row.name == key; });
    const auto is_meant_by_id = [&](const RunRow& row) {
      return key.size() >= 4 && row.id.starts_with(key) && row.name != key;
    };
    const bool is_name_alone = std::none_of(all.begin(), all.end(), is_meant_by_id);
    if (found.size() > 1 && several == SeveralFit::TakeNewest && is_name_alone) {
      notes_.push_back(std::to_string(found.size()) + " runs are called \"" + key + "\"; this is the newest, " +
                       found.front().id + ".");
      return found.front();
    }
    std::copy_if(all.begin(), all.end(), std::back_inserter(found), is_meant_by_id);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    throw base::Error(base::ErrorCode::Usage,
                      "\"" + key + "\" fits several runs; name one of them by more digits of its id:" + list_of(found));
  }
  std::vector<std::string> names;
  for (const RunRow& row : all) {
    names.push_back(row.name);
    names.push_back(row.folder);
    if (key.size() >= 4 && key.size() <= row.id.size()) names.push_back(row.id.substr(0, key.size()));
  }
  const std::string near = base::nearest_name(key, names);
  throw base::Error(base::ErrorCode::Usage, "no run \"" + base::shown_text(key, 120) + "\" in " + workspace_.string() +
                                                (near.empty() ? "." : "; did you mean " + near + "?") +
                                                " \"cinnabar runs list\" shows all of them");
}

size_t RunStore::short_id_length() {
  return guarded([&] {
    std::vector<std::string> ids;
    Statement select(store_->database, "SELECT id FROM runs ORDER BY id");
    while (select.step()) ids.push_back(select.text(0));
    size_t length = 7;
    for (size_t i = 1; i < ids.size(); ++i) {
      const auto differ = std::mismatch(ids[i].begin(), ids[i].end(), ids[i - 1].begin(), ids[i - 1].end());
      length = std::max(length, static_cast<size_t>(differ.first - ids[i].begin()) + 1);
    }
    return length;
  });
}

std::vector<std::string> RunStore::descendants(const std::string& id) {
  return guarded([&] {
    std::vector<std::string> ids;
    for (const RunRow& row : rows(store_->database, "ORDER BY started", [](Statement&) {})) {
      if (row.parent == id) ids.push_back(row.id);
    }
    return ids;
  });
}

fs::path RunStore::folder_of(const RunRow& run) const {
  return (run.is_removed ? bin_folder(workspace_) : runs_folder(workspace_)) / run.folder;
}

void RunStore::require_writable(const std::string& what) const {
  const std::string why = !why_memory_.empty() ? why_memory_ : store_->is_newer ? "a newer Cinnabar made it" : "";
  if (!why.empty()) {
    throw base::Error(base::ErrorCode::Denied, "cannot " + what + ": the store of runs " +
                                                   store_path(workspace_).string() + " cannot be changed (" + why +
                                                   ")");
  }
}

void RunStore::check_name(const RunRow& run, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    throw base::Error(base::ErrorCode::Usage, "a run cannot be called \"" + base::shown_text(name, 120) + "\": " + why +
                                                  "; choose another name");
  };
  if (name == "latest") refuse("the word stands for the newest run");
  for (const RunRow& other : guarded([&] { return rows(store_->database, "", [](Statement&) {}); })) {
    if (other.id == run.id) continue;
    const bool is_hidden = other.folder == name || (name.size() >= 4 && other.id.starts_with(name));
    if (is_hidden) refuse("that is how the run " + other.id + " (" + other.name + ") is found");
  }
}

void RunStore::rename(const RunRow& run, const std::string& name) {
  require_writable("rename a run");
  check_name(run, name);
  write_run_name(folder_of(run), name);
  guarded([&] { take_in(store_->database, folder_of(run), {.is_removed = run.is_removed}); });
}

void RunStore::move_folder(const RunRow& run, const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  const bool is_taken = fs::exists(to / run.folder, error);
  if (!is_taken) fs::rename(from / run.folder, to / run.folder, error);
  if (is_taken || error) {
    throw base::Error(base::ErrorCode::Io, "cannot move " + (from / run.folder).string() + " to " + to.string() + ": " +
                                               (is_taken ? "there is one already" : error.message()));
  }
}

void RunStore::remove(const RunRow& run) {
  require_writable("remove a run");
  if (run.is_removed) throw base::Error(base::ErrorCode::Usage, "the run " + run.id + " is in the bin already");
  if (run.state == "running") {
    throw base::Error(base::ErrorCode::Usage,
                      "the run " + run.id + " (" + run.name + ") is going on; stop it before it is removed");
  }
  move_folder(run, runs_folder(workspace_), bin_folder(workspace_));
  guarded([&] { take_in(store_->database, bin_folder(workspace_) / run.folder, {.is_removed = true}); });
}

void RunStore::restore(const RunRow& run) {
  require_writable("restore a run");
  if (!run.is_removed) throw base::Error(base::ErrorCode::Usage, "the run " + run.id + " is not in the bin");
  move_folder(run, bin_folder(workspace_), runs_folder(workspace_));
  guarded([&] { take_in(store_->database, runs_folder(workspace_) / run.folder, {}); });
}

int64_t RunStore::empty_bin() {
  require_writable("empty the bin");
  int64_t count = 0;
  for (const fs::path& folder : folders_in(bin_folder(workspace_))) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) throw base::Error(base::ErrorCode::Io, "cannot delete " + folder.string() + ": " + error.message());
    ++count;
  }
  // Also runs of the bin whose folder somebody else deleted.
  guarded([&] { store_->database.execute("DELETE FROM runs WHERE is_removed <> 0"); });
  return count;
}

}  // namespace cinnabar::jobs
