// The store of runs: an index over the run folders of a workspace, in one SQLite file that several programs share. What
// it says can always be made again from the folders; a store that cannot be used never hides a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/jobs/process_identity.h"
#include "cinnabar/jobs/store_file.h"

namespace cinnabar::jobs {

struct RunRow {
  std::string id{};      // 16 hex digits
  std::string folder{};  // name of the run's folder
  std::string name{};
  std::string command{};
  std::string state{};     // running, done, interrupted, failed, crashed
  bool is_certain = true;  // false: "running" on a machine that cannot be seen from here
  std::string host{};
  std::optional<double> started{};  // seconds since 1970
  std::optional<double> ended{};
  std::optional<int64_t> exit_status{};
  std::string message{};
  std::string program_version{};
  int64_t record_version = 0;
  std::string libtorch{};
  std::string work_folder{};
  std::string parent{};  // id of the run that it continues
  std::optional<int64_t> step{};
  std::optional<int64_t> total{};
  std::optional<int64_t> epoch{};
  std::optional<int64_t> epochs{};
  std::optional<double> loss{};
  std::optional<double> average_loss{};
  bool is_removed = false;  // in the bin
};

struct RunFile {
  std::string path;
  std::string kind;
  std::optional<int64_t> step;
  std::optional<int64_t> bytes;
  std::string sha256;  // empty: not computed
  std::string note;    // why not
};

struct RunInput {
  std::string kind;
  std::string path;
  std::string sha256;
  std::string note;
};

struct RunEvent {
  std::string type;
  std::optional<double> time;
  std::string content;  // the line of events.jsonl
};

struct MetricPoint {
  int64_t step = 0;
  double value = 0;
  std::optional<double> time{};
};

struct RunFilter {
  std::string state{};      // empty: every one
  bool is_removed = false;  // those in the bin instead of the others
  int64_t limit = -1;       // newest so many; -1: all
};

// What to do about a name that several runs have. TakeNewest adds a note.
enum class SeveralFit { Refuse, TakeNewest };
// Which runs a name or "latest" is looked for in: those that are kept and then the bin, or the bin alone.
enum class LookIn { Both, Bin };

class RunStore {
 public:
  // Opens the store of `workspace` and takes in what is new in the run folders. Without a usable file, the runs are
  // read into memory; notes() says so. `tell` gets at once what takes time.
  explicit RunStore(std::filesystem::path workspace, std::function<void(const std::string&)> tell = {});

  const std::filesystem::path& workspace() const { return workspace_; }
  // Sentences for the user about the store itself: damaged, migrated, not writable, of a newer version.
  const std::vector<std::string>& notes() const { return notes_; }

  std::vector<RunRow> runs(const RunFilter& filter);  // newest first
  // `key`: an id or the beginning of one, a name, the name of a run folder, or "latest". Throws Error{Usage} with the
  // nearest known one, or with all that fit; a name that is the beginning of another run's id fits both. Names of runs
  // in the bin count where no other has them.
  RunRow find(const std::string& key, SeveralFit several = SeveralFit::Refuse, LookIn where = LookIn::Both);
  // As many digits of an id as tell all runs apart, at least 7.
  size_t short_id_length();
  std::vector<std::string> descendants(const std::string& id);  // ids of the runs that continue it

  // Of the run with this whole id; empty when there is none.
  std::string config_toml(const std::string& id);
  // Option -> value as JSON, by name.
  std::vector<std::pair<std::string, std::string>> config(const std::string& id);
  std::vector<RunInput> inputs(const std::string& id);
  // Hashes that are missing are computed, for at most `patience`.
  std::vector<RunFile> files(const std::string& id, std::chrono::milliseconds patience);
  std::vector<RunEvent> events(const std::string& id);
  std::vector<std::string> series(const std::string& id);
  std::vector<MetricPoint> metric(const std::string& id, const std::string& series);  // by step

  // Where the run's folder is: in runs/ or in bin/.
  std::filesystem::path folder_of(const RunRow& run) const;

  // Throws Error{Usage} for a name that would hide another run, or the word "latest".
  void rename(const RunRow& run, const std::string& name);
  // Moves the folder of a run that is not going on to the bin; files that the run saved elsewhere stay. Throws
  // Error{Usage} for a running one.
  void remove(const RunRow& run);
  void restore(const RunRow& run);
  // Deletes what is in the bin for good; returns how many.
  int64_t empty_bin();

 private:
  void open();
  void catch_up();
  // Takes folders in, of new ones many in one transaction. True when a run was found crashed.
  bool take_all(const std::vector<std::pair<std::filesystem::path, bool>>& folders, size_t new_count);
  void use_memory(const std::string& why);
  void require_writable(const std::string& what) const;
  void check_name(const RunRow& run, const std::string& name);
  void move_folder(const RunRow& run, const std::filesystem::path& from, const std::filesystem::path& to);
  // Runs `work`; when the file turns out to be damaged, makes the store anew and runs `work` once more.
  template <class Work>
  auto guarded(const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const SqliteError& error) {
      recover(error);
    }
    return work();
  }
  // Throws for any error but damage of the file.
  void recover(const SqliteError& error);
  int64_t number_of(const std::string& id);  // -1: no such run

  std::filesystem::path workspace_;
  std::function<void(const std::string&)> tell_;
  std::optional<OpenStore> store_;
  std::vector<std::string> notes_;
  std::string why_memory_;  // not empty: the store is in memory, for this reason
};

}  // namespace cinnabar::jobs
