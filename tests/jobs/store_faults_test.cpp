// The store of runs under faults: torn and overwritten files, kills, full disks, several programs at once. However it
// is hit, the runs are listed as their folders say. CINNABAR_FAULT_ROUNDS makes it longer.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/jobs/run_intake.h"
#include "cinnabar/jobs/run_store.h"
#include "cinnabar/jobs/store_schema.h"
#include "formats/temporary_folder.h"
#include "jobs/run_fixture.h"
#include "jobs/store_trials.h"

namespace cinnabar::jobs {

namespace {

namespace fs = std::filesystem;

constexpr int kRuns = 6;
constexpr int64_t kSteps = 60;

int rounds(int usual) {
  const char* given = std::getenv("CINNABAR_FAULT_ROUNDS");
  return given == nullptr ? usual : std::max(usual, std::atoi(given));
}

std::string folder_name(int number) { return "20260101-00000" + std::to_string(number) + "-run"; }

// A workspace of some runs with a store in it, which is closed and whole.
void fill(const fs::path& workspace) {
  for (int i = 0; i < kRuns; ++i) make_run(workspace, {.folder = folder_name(i), .events = progress_lines(kSteps)});
  const RunStore store(workspace);
}

// What is missing; empty when every run is there with all its steps, whatever was done to the store.
std::string missing(const fs::path& workspace) {
  RunStore store(workspace);
  if (store.runs({}).size() != kRuns) return "a run";
  for (int i = 0; i < kRuns; ++i) {
    const RunRow run = store.find(folder_name(i));
    if (run.state != "done") return "the state of " + run.folder + " is " + run.state;
    if (store.metric(run.id, "loss").size() != kSteps) return "steps of " + run.folder;
    if (store.config(run.id).size() != 2) return "options of " + run.folder;
  }
  return "";
}

void check_whole(const fs::path& workspace) { CHECK(missing(workspace) == ""); }

void check_integrity(const fs::path& workspace) {
  Database database(store_path(workspace), {});
  Statement check(database, "PRAGMA integrity_check");
  REQUIRE(check.step());
  CHECK(check.text(0) == "ok");
}

void put_store(const fs::path& workspace, const std::string& bytes) {
  for (const char* part : {"", "-wal", "-shm"}) fs::remove(store_path(workspace).string() + part);
  append(store_path(workspace), bytes);
}

// Runs `work` in a process of its own; the number of the process.
template <class Work>
pid_t in_child(const Work& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      work();
      ::_exit(0);
    } catch (const std::exception& error) {
      std::cerr << "in a child: " << error.what() << std::endl;
      ::_exit(1);
    }
  }
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_CASE("a_store_cut_off_anywhere_is_made_anew") {
  const formats::TemporaryFolder folder;
  const fs::path workspace = folder / "w";
  fill(workspace);
  const std::string whole = base::read_file(store_path(workspace));
  REQUIRE(whole.size() > 20000);
  std::vector<size_t> cuts = {0, 1, 15, 16, 99, 100, 511, 4095, 4096, 4097, whole.size() - 1};
  const auto parts = static_cast<size_t>(rounds(32));
  for (size_t i = 1; i < parts; ++i) cuts.push_back(whole.size() * i / parts);
  for (const size_t cut : cuts) {
    INFO("cut at ", cut, " of ", whole.size());
    put_store(workspace, whole.substr(0, cut));
    check_whole(workspace);
    check_integrity(workspace);
  }
}

TEST_CASE("a_store_overwritten_anywhere_never_hides_a_run_or_ends_the_program") {
  const formats::TemporaryFolder folder;
  const fs::path workspace = folder / "w";
  fill(workspace);
  const std::string whole = base::read_file(store_path(workspace));
  std::mt19937 random(7);
  for (int round = 0; round < rounds(60); ++round) {
    std::string bytes = whole;
    const size_t at = random() % bytes.size();
    const size_t length = std::min<size_t>(bytes.size() - at, size_t{1} << (random() % 13));
    const char fill_byte = random() % 2 == 0 ? '\0' : static_cast<char>(random());
    bytes.replace(at, length, length, fill_byte);
    INFO("round ", round, ": ", length, " bytes at ", at);
    put_store(workspace, bytes);
    // Values inside a page may differ without notice; what SQLite can see must have been mended.
    RunStore store(workspace);
    CHECK(store.runs({}).size() == kRuns);
    for (const RunRow& run : store.runs({})) {
      store.metric(run.id, "loss");
      store.events(run.id);
      store.config(run.id);
    }
  }
}

TEST_CASE("a_torn_log_loses_no_more_than_its_end") {
  const formats::TemporaryFolder folder;
  const fs::path workspace = folder / "w";
  for (int i = 0; i < kRuns; ++i) make_run(workspace, {.folder = folder_name(i), .events = progress_lines(kSteps)});
  // A process that dies with the log full leaves it behind.
  status_of(in_child([&] {
    const RunStore store(workspace);
    ::_exit(0);
  }));
  const std::string log_path = store_path(workspace).string() + "-wal";
  const std::string log = base::read_file(log_path);
  const std::string main = base::read_file(store_path(workspace));
  REQUIRE(log.size() > 20000);
  for (int i = 0; i <= rounds(24); ++i) {
    const size_t cut = log.size() * static_cast<size_t>(i) / static_cast<size_t>(rounds(24));
    INFO("log cut at ", cut);
    put_store(workspace, main);
    append(log_path, log.substr(0, cut));
    check_whole(workspace);
    check_integrity(workspace);
  }
}

TEST_CASE("a_kill_in_the_middle_of_writing_loses_nothing") {
  const formats::TemporaryFolder folder;
  std::mt19937 random(11);
  int killed = 0;
  for (int round = 0; round < rounds(25); ++round) {
    const fs::path workspace = folder / ("w" + std::to_string(round));
    for (int i = 0; i < kRuns; ++i) make_run(workspace, {.folder = folder_name(i), .events = progress_lines(kSteps)});
    const pid_t child = in_child([&] { const RunStore store(workspace); });
    ::usleep(static_cast<useconds_t>(random() % 30000));
    ::kill(child, SIGKILL);
    if (status_of(child) == 128 + SIGKILL) ++killed;
    INFO("round ", round);
    check_whole(workspace);
    check_integrity(workspace);
    fs::remove_all(workspace);
  }
  CHECK(killed > 0);
}

TEST_CASE("a_page_that_was_lost_with_the_power_is_found_with_the_crashed_run") {
  const formats::TemporaryFolder folder;
  const fs::path workspace = folder / "w";
  fill(workspace);
  const std::string whole = base::read_file(store_path(workspace));
  for (size_t page = 1; page < whole.size() / 4096; ++page) {
    std::string bytes = whole;
    bytes.replace(page * 4096, 4096, 4096, '\0');
    put_store(workspace, bytes);
    const std::string name = "20260102-000000-crashed" + std::to_string(page);
    const fs::path crashed = make_run(workspace, {.folder = name, .state = "running", .process = gone_process()});
    INFO("page ", page);
    {
      const RunStore store(workspace);
    }
    check_integrity(workspace);
    fs::remove_all(crashed);
  }
}

TEST_CASE("several_programs_share_one_store") {
  const formats::TemporaryFolder folder;
  for (int round = 0; round < 5; ++round) {
    const fs::path workspace = folder / ("w" + std::to_string(round));
    for (int i = 0; i < kRuns; ++i) make_run(workspace, {.folder = folder_name(i), .events = progress_lines(kSteps)});
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(in_child([&] {
        for (int turn = 0; turn < 3; ++turn) {
          RunStore store(workspace);
          if (store.runs({}).size() != kRuns || !store.notes().empty()) throw std::runtime_error("runs are missing");
          store.rename(store.find(folder_name(turn)), "name " + std::to_string(i));
        }
      }));
    }
    for (const pid_t child : children) CHECK(status_of(child) == 0);
    check_whole(workspace);
    check_integrity(workspace);
  }
}

TEST_CASE("several_programs_mend_a_damaged_store_once") {
  const formats::TemporaryFolder folder;
  const fs::path workspace = folder / "w";
  fill(workspace);
  const std::string whole = base::read_file(store_path(workspace));
  for (int round = 0; round < 5; ++round) {
    put_store(workspace, whole.substr(0, whole.size() / 2));
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(in_child([&] {
        if (!missing(workspace).empty()) throw std::runtime_error("missing: " + missing(workspace));
      }));
    }
    for (const pid_t child : children) CHECK(status_of(child) == 0);
    check_integrity(workspace);
  }
  int aside = 0;
  for (const auto& entry : fs::directory_iterator(workspace)) {
    const std::string name = entry.path().filename();
    if (name.find("damaged") != std::string::npos && !name.ends_with("-wal") && !name.ends_with("-shm")) ++aside;
  }
  CHECK(aside == 5);
}

TEST_CASE("a_full_disk_leaves_a_whole_store_and_the_rest_comes_later") {
  const formats::TemporaryFolder folder;
  for (const rlim_t limit :
       {rlim_t{1000}, rlim_t{8192}, rlim_t{40000}, rlim_t{80000}, rlim_t{160000}, rlim_t{320000}}) {
    const fs::path workspace = folder / ("w" + std::to_string(limit));
    for (int i = 0; i < kRuns; ++i) make_run(workspace, {.folder = folder_name(i), .events = progress_lines(kSteps)});
    // Files that may not grow past a size fail as on a full disk. The list must come all the same.
    const pid_t child = in_child([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit size{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &size);
      RunStore store(workspace);
      if (store.runs({}).size() != kRuns) throw std::runtime_error("runs are missing");
    });
    INFO("limit ", limit);
    CHECK(status_of(child) == 0);
    check_whole(workspace);
    check_integrity(workspace);
  }
}

TEST_CASE("a_failing_call_below_the_store_hides_no_run_and_leaves_it_whole") {
  const StoreTrials trials = try_store_faults(13);
  CHECK(trials.rounds > 40);
  for (const std::string& text : trials.failures) CHECK(text == "");
}

TEST_CASE("a_loss_of_power_at_any_call_leaves_a_whole_store") {
  const StoreTrials trials = try_store_power(20, 3);
  CHECK(trials.rounds >= 20);
  for (const std::string& text : trials.failures) CHECK(text == "");
}

TEST_CASE("an_interrupted_migration_happens_again_from_the_start") {
  const formats::TemporaryFolder folder;
  for (int round = 0; round < rounds(10); ++round) {
    const fs::path workspace = folder / ("w" + std::to_string(round));
    make_run(workspace, {.folder = folder_name(0), .events = progress_lines(kSteps)});
    append(store_path(workspace), "");
    {
      Database database(store_path(workspace), {});
      bring_to_version(database, 1);
      database.run(
          "INSERT INTO runs(id, folder, name, command, state, started) VALUES('00112233aabbccdd', 'gone', 'old', "
          "'train', 'done', 5)");
    }
    const pid_t child = in_child([&] { const RunStore store(workspace); });
    ::usleep(static_cast<useconds_t>(round * 1500));
    ::kill(child, SIGKILL);
    status_of(child);
    RunStore store(workspace);
    CHECK(store.runs({}).size() == 2);
    CHECK(store.find("00112233aabbccdd").name == "old");
    check_integrity(workspace);
  }
}

}  // namespace

}  // namespace cinnabar::jobs
