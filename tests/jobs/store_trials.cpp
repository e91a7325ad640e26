#include "jobs/store_trials.h"

#include <sqlite3.h>

#include <array>
#include <random>
#include <utility>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/jobs/run_store.h"
#include "cinnabar/jobs/store_file.h"
#include "faults/store_disk.h"
#include "formats/temporary_folder.h"
#include "jobs/run_fixture.h"

namespace cinnabar::jobs {

namespace {

namespace fs = std::filesystem;
using faults::StoreCall;

constexpr int kTrialRuns = 3;
constexpr int64_t kTrialSteps = 40;

std::string trial_folder(int number) { return "20260101-00000" + std::to_string(number) + "-run"; }

void add_run(const fs::path& workspace, int number) {
  make_run(workspace, {.folder = trial_folder(number), .events = progress_lines(kTrialSteps)});
}

// "" when a store made of these folders lists them all and is whole.
std::string store_problem(const fs::path& workspace, int64_t& aside) {
  {
    RunStore store(workspace);
    for (const std::string& note : store.notes()) {
      if (note.find("damaged") == std::string::npos) return note;
      ++aside;
    }
    if (store.runs({}).size() != kTrialRuns) return "a run is missing";
    for (int i = 0; i < kTrialRuns; ++i) {
      const RunRow run = store.find(trial_folder(i));
      if (run.state != "done") return "the state of " + run.folder + " is " + run.state;
      if (store.metric(run.id, "loss").size() != kTrialSteps) return "steps of " + run.folder + " are missing";
    }
  }
  Database database(store_path(workspace), {});
  Statement check(database, "PRAGMA integrity_check");
  return check.step() ? (check.text(0) == "ok" ? "" : check.text(0)) : "no answer of the integrity check";
}

// What a program that lists the runs meets while the disk fails: all of them, or an error that names the store.
std::string listed(const fs::path& workspace) {
  try {
    RunStore store(workspace);
    return store.runs({}).size() == kTrialRuns ? "" : "a run is not listed";
  } catch (const base::Error& error) {
    const bool is_named = error.message().find(store_path(workspace).string()) != std::string::npos;
    return is_named ? "" : "the error does not name the store: " + error.message();
  } catch (const std::exception& error) {
    return std::string("an untyped error: ") + error.what();
  }
}

void remove_store(const fs::path& workspace) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(workspace)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  for (const fs::path& file : files) fs::remove(file);
}

struct Kind {
  const char* name;
  StoreCall call;
  int result;
  bool is_torn = false;
};

constexpr Kind kKinds[] = {
    {"open", StoreCall::Open, SQLITE_CANTOPEN},
    {"read", StoreCall::Read, SQLITE_IOERR_READ},
    {"write, full disk", StoreCall::Write, SQLITE_FULL},
    {"write", StoreCall::Write, SQLITE_IOERR_WRITE},
    {"half a write", StoreCall::Write, SQLITE_IOERR_WRITE, true},
    {"half a write, full disk", StoreCall::Write, SQLITE_FULL, true},
    {"truncate", StoreCall::Truncate, SQLITE_IOERR_TRUNCATE},
    {"sync", StoreCall::Sync, SQLITE_IOERR_FSYNC},
    {"delete", StoreCall::Delete, SQLITE_IOERR_DELETE},
    {"size", StoreCall::Size, SQLITE_IOERR_FSTAT},
    {"lock", StoreCall::Lock, SQLITE_IOERR_LOCK},
    {"shared memory", StoreCall::Map, SQLITE_IOERR_SHMMAP},
};

class Trial {
 public:
  explicit Trial(bool is_new) : is_new_(is_new), workspace_(folder_ / "w") {
    for (int i = 0; i < kTrialRuns - 1; ++i) add_run(workspace_, i);
    if (!is_new) {
      const RunStore store(workspace_);
    }
    add_run(workspace_, kTrialRuns - 1);
    if (!is_new) before_ = base::read_file(store_path(workspace_));
  }

  // False when there is no such call any more.
  bool round(faults::StoreDisk& disk, const Kind& kind, int64_t at, bool is_sticky, StoreTrials& trials) {
    remove_store(workspace_);
    if (!is_new_) append(store_path(workspace_), before_);
    disk.fail({.call = kind.call, .result = kind.result, .at = at, .is_sticky = is_sticky, .is_torn = kind.is_torn});
    std::string problem = listed(workspace_);
    disk.rest();
    if (!disk.has_failed()) return false;
    ++trials.rounds;
    if (problem.empty()) problem = store_problem(workspace_, trials.numbers["set aside"]);
    if (!problem.empty()) {
      trials.failures.push_back(std::string(is_new_ ? "new store, " : "") + kind.name + " at " + std::to_string(at) +
                                (is_sticky ? " and on: " : ": ") + problem);
    }
    return true;
  }

 private:
  bool is_new_;
  formats::TemporaryFolder folder_;
  fs::path workspace_;
  std::string before_;
};

}  // namespace

StoreTrials try_store_faults(int64_t stride) {
  StoreTrials trials;
  faults::StoreDisk disk;
  for (const bool is_new : {true, false}) {
    Trial trial(is_new);
    for (const Kind& kind : kKinds) {
      for (const bool is_sticky : {false, true}) {
        for (int64_t at = 0; trial.round(disk, kind, at, is_sticky, trials); at += stride) {
        }
      }
    }
  }
  return trials;
}

StoreTrials try_store_power(int64_t rounds, uint64_t seed) {
  StoreTrials trials;
  std::mt19937 random(static_cast<uint32_t>(seed));
  while (trials.rounds < rounds) {
    const formats::TemporaryFolder folder;
    const fs::path workspace = folder / "w";
    const fs::path found = folder / "found";
    for (int i = 0; i < kTrialRuns; ++i) {
      add_run(workspace, i);
      add_run(found, i);
    }
    std::vector<std::pair<faults::Loss, std::map<std::string, std::string>>> states;
    {
      faults::StoreDisk disk;
      disk.after_call = [&] {
        if (random() % 4 != 0) return;
        const auto loss = std::array{faults::Loss::Data, faults::Loss::Names, faults::Loss::Random}[random() % 3];
        const fs::path copy = folder / "copy";
        disk.lay_out(workspace, copy, loss, random);
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::directory_iterator(copy))
          files[entry.path().filename().string()] = base::read_file(entry.path());
        fs::remove_all(copy);
        states.emplace_back(loss, std::move(files));
      };
      // A store that is begun, and added to by others.
      for (int i = 0; i < kTrialRuns; ++i) {
        RunStore store(workspace);
        store.rename(store.find(trial_folder(i)), "renamed " + std::to_string(i));
      }
    }
    for (const auto& [loss, files] : states) {
      remove_store(found);
      for (const auto& [name, bytes] : files) append(found / name, bytes);
      ++trials.rounds;
      const std::string problem = store_problem(found, trials.numbers["set aside"]);
      if (!problem.empty())
        trials.failures.push_back("loss " + std::to_string(static_cast<int>(loss)) + ": " + problem);
    }
  }
  return trials;
}

}  // namespace cinnabar::jobs
