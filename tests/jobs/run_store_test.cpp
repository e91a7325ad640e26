#include "cinnabar/jobs/run_store.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cmath>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/process.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/jobs/run_record.h"
#include "cinnabar/jobs/store_schema.h"
#include "formats/temporary_folder.h"
#include "jobs/run_fixture.h"

namespace cinnabar::jobs {

namespace {

namespace fs = std::filesystem;

std::string all_notes(const RunStore& store) {
  std::string text;
  for (const std::string& note : store.notes()) text += note + "\n";
  return text;
}

std::vector<std::string> folders_of(RunStore& store, const RunFilter& filter = {}) {
  std::vector<std::string> folders;
  for (const RunRow& run : store.runs(filter)) folders.push_back(run.folder);
  return folders;
}

TEST_CASE("a_workspace_without_runs_is_empty_and_not_an_error") {
  const formats::TemporaryFolder folder;
  RunStore store(folder / "w");
  CHECK(store.runs({}).empty());
  CHECK(store.notes().empty());
  struct stat status{};
  REQUIRE(::stat(store_path(folder / "w").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("runs_from_before_the_store_are_in_it") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "20260101-000000-a", .events = progress_lines(3)});
  make_run(folder / "w", {.folder = "20260102-000000-b", .state = "failed"});
  RunStore store(folder / "w");
  const std::vector<RunRow> runs = store.runs({});
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].folder == "20260102-000000-b");  // the newest first
  CHECK(runs[0].exit_status == 1);
  CHECK(runs[1].step == 3);
  CHECK(runs[1].state == "done");
  CHECK(folders_of(store, {.state = "failed"}) == std::vector<std::string>{"20260102-000000-b"});
  CHECK(store.runs({.limit = 1}).size() == 1);
  CHECK(store.notes().empty());
}

TEST_CASE("the_details_of_a_run_are_what_its_folder_holds") {
  const formats::TemporaryFolder folder;
  folder.put("w/a", "content");
  make_run(folder / "w", {.events = {progress_line(1, 0.5), R"({"type":"saved","kind":"adapter","path":"a","step":1})",
                                     R"({"type":"input","kind":"model","path":"m","sha256":"aa"})",
                                     R"({"type":"warning","text":"careful"})"}});
  RunStore store(folder / "w");
  const std::string id = store.find("latest").id;
  CHECK(store.config_toml(id) == "network_dim = 8\n");
  CHECK(store.config(id).size() == 2);
  CHECK(store.series(id) == std::vector<std::string>{"learning_rate", "loss"});
  REQUIRE(store.metric(id, "loss").size() == 1);
  CHECK(store.metric(id, "loss")[0].value == 0.5);
  CHECK(store.metric(id, "loss")[0].time == 1001.0);
  CHECK(store.metric(id, "none").empty());
  REQUIRE(store.files(id, std::chrono::seconds(5)).size() == 1);
  CHECK(store.files(id, std::chrono::seconds(5))[0].sha256.size() == 64);
  CHECK(store.files(id, std::chrono::seconds(5))[0].bytes == 7);
  REQUIRE(store.inputs(id).size() == 1);
  CHECK(store.events(id).size() == 3);
  CHECK(store.config_toml("no such id").empty());
}

TEST_CASE("a_run_is_found_by_id_beginning_name_folder_or_latest") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "20260101-000000-a", .name = "first dog"});
  make_run(folder / "w", {.folder = "20260102-000000-b", .name = "second"});
  RunStore store(folder / "w");
  const std::string id = run_id("20260101-000000-a");
  for (const std::string& key : {id, id.substr(0, 7), std::string("first dog"), std::string("20260101-000000-a")}) {
    CHECK(store.find(key).id == id);
  }
  CHECK(store.find("latest").folder == "20260102-000000-b");
  CHECK(store.short_id_length() >= 7);
  CHECK_THROWS_WITH_AS(store.find("first dig"), doctest::Contains("did you mean first dog?"), base::Error);
  CHECK_THROWS_WITH_AS(store.find(""), doctest::Contains("no run"), base::Error);
  CHECK_THROWS_AS(store.find("' OR 1=1 --"), base::Error);
  CHECK_THROWS_AS(store.find("%"), base::Error);
}

TEST_CASE("a_name_of_several_runs_lists_them") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "20260101-000000-a", .name = "dog"});
  make_run(folder / "w", {.folder = "20260102-000000-b", .name = "dog"});
  RunStore store(folder / "w");
  CHECK_THROWS_WITH_AS(store.find("dog"), doctest::Contains("fits several runs"), base::Error);
  CHECK_THROWS_WITH_AS(store.find("dog"), doctest::Contains(run_id("20260102-000000-b").c_str()), base::Error);
  CHECK(store.notes().empty());
  CHECK(store.find("dog", SeveralFit::TakeNewest).folder == "20260102-000000-b");
  CHECK(all_notes(store).find("2 runs are called") != std::string::npos);
}

TEST_CASE("a_new_name_stays_when_the_store_is_made_anew") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {});
  {
    RunStore store(folder / "w");
    store.rename(store.find("latest"), "mein hund");
    CHECK(store.find("mein hund").folder == "20260102-030405-dog");
    CHECK_THROWS_AS(store.rename(store.find("latest"), "a\nb"), base::Error);
  }
  fs::remove(store_path(folder / "w"));
  RunStore store(folder / "w");
  CHECK(store.find("latest").name == "mein hund");
}

TEST_CASE("a_removed_run_lies_in_the_bin_until_that_is_emptied") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "20260101-000000-a"});
  make_run(folder / "w", {.folder = "20260102-000000-b", .events = progress_lines(2)});
  folder.put("w/result", "kept");
  RunStore store(folder / "w");
  const RunRow run = store.find("20260102-000000-b");
  store.remove(run);
  CHECK(folders_of(store) == std::vector<std::string>{"20260101-000000-a"});
  CHECK(folders_of(store, {.is_removed = true}) == std::vector<std::string>{"20260102-000000-b"});
  CHECK_FALSE(fs::exists(folder / "w/runs/20260102-000000-b"));
  // A fresh look finds the same, also without the store.
  CHECK(RunStore(folder / "w").find(run.id).is_removed);
  CHECK_THROWS_WITH_AS(store.remove(store.find(run.id)), doctest::Contains("already"), base::Error);
  store.restore(store.find(run.id));
  CHECK(folders_of(store).size() == 2);
  CHECK_THROWS_WITH_AS(store.restore(store.find(run.id)), doctest::Contains("not in the bin"), base::Error);
  store.remove(store.find(run.id));
  CHECK(store.empty_bin() == 1);
  CHECK(store.runs({.is_removed = true}).empty());
  CHECK(store.metric(run.id, "loss").empty());
  CHECK(fs::exists(folder / "w/result"));
  CHECK(store.empty_bin() == 0);
}

TEST_CASE("a_running_run_is_not_removed_and_its_name_in_the_bin_is_not_given_again") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.state = "running", .process = this_process()});
  RunStore store(folder / "w");
  CHECK_THROWS_WITH_AS(store.remove(store.find("latest")), doctest::Contains("going on"), base::Error);
  const RunFolder made(folder / "w", "x");
  made.write_state(R"({"command": "train", "state": "done"})");
  const std::string first = made.path().filename();
  store = RunStore(folder / "w");
  store.remove(store.find(first));
  CHECK(RunFolder(folder / "w", "x").path().filename() != first);
}

TEST_CASE("a_run_whose_process_died_is_crashed") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "a", .state = "running", .process = gone_process(), .events = progress_lines(5)});
  make_run(folder / "w", {.folder = "b", .state = "running", .process = this_process()});
  ProcessIdentity elsewhere = this_process();
  elsewhere.host = "other-machine";
  make_run(folder / "w", {.folder = "c", .state = "running", .process = elsewhere});
  RunStore store(folder / "w");
  CHECK(store.find("a").state == "crashed");
  CHECK(store.find("a").ended == 1005.0);
  CHECK(store.find("b").state == "running");
  CHECK(store.find("b").is_certain);
  CHECK(store.find("c").state == "running");
  CHECK_FALSE(store.find("c").is_certain);
}

TEST_CASE("what_a_run_said_last_is_found_although_nobody_took_it_in_while_it_ran") {
  const formats::TemporaryFolder folder;
  const fs::path path =
      make_run(folder / "w", {.state = "running", .process = this_process(), .events = progress_lines(5)});
  CHECK(RunStore(folder / "w").find("latest").step == 5);
  append(path / "events.jsonl", progress_line(6, 0.1) + "\n");
  CHECK(RunStore(folder / "w").find("latest").step == 6);
  make_run(folder / "w", {.state = "done", .events = {progress_line(7, 0.1)}});
  RunStore store(folder / "w");
  CHECK(store.find("latest").step == 7);
  CHECK(store.find("latest").state == "done");
}

TEST_CASE("an_older_store_is_copied_and_brought_to_the_present_version") {
  const formats::TemporaryFolder folder;
  fs::create_directories(folder / "w");
  folder.put("w/runs.sqlite", "");
  {
    Database database(store_path(folder / "w"), {});
    bring_to_version(database, 1);
    database.run(
        "INSERT INTO runs(id, folder, name, command, state, started) VALUES('00112233aabbccdd', 'gone', 'old', "
        "'train', 'done', 5)");
    CHECK(state_of_store(database) == StoreState::Older);
  }
  RunStore store(folder / "w");
  const RunRow run = store.find("0011223");
  CHECK(run.name == "old");
  CHECK_FALSE(run.is_removed);
  CHECK(run.parent.empty());
  CHECK(all_notes(store).find("runs.sqlite.version-1") != std::string::npos);
  Database copy(folder / "w/runs.sqlite.version-1", {});
  CHECK(version_of_store(copy) == 1);
  CHECK(copy.integer("SELECT count(*) FROM runs") == 1);
  CHECK(RunStore(folder / "w").notes().empty());
}

TEST_CASE("a_newer_store_is_read_as_far_as_it_is_known_and_not_changed") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "20260101-000000-a", .events = progress_lines(3)});
  {
    const RunStore store(folder / "w");
  }
  {
    Database database(store_path(folder / "w"), {});
    database.run(
        "ALTER TABLE runs ADD COLUMN mood TEXT; ALTER TABLE runs DROP COLUMN average_loss;"
        "DROP TABLE inputs; CREATE TABLE moods(x); PRAGMA user_version = 9;");
  }
  make_run(folder / "w", {.folder = "20260102-000000-b"});
  RunStore store(folder / "w");
  CHECK(folders_of(store) == std::vector<std::string>{"20260101-000000-a"});
  const RunRow run = store.find("latest");
  CHECK(run.step == 3);
  CHECK_FALSE(run.average_loss);
  CHECK(store.metric(run.id, "loss").size() == 3);
  CHECK(store.inputs(run.id).empty());
  CHECK(all_notes(store).find("of version 9") != std::string::npos);
  CHECK(all_notes(store).find("1 runs are not in that store") != std::string::npos);
  CHECK_THROWS_WITH_AS(store.rename(run, "x"), doctest::Contains("newer"), base::Error);
  CHECK_THROWS_WITH_AS(store.remove(run), doctest::Contains("newer"), base::Error);
  Database database(store_path(folder / "w"), {});
  CHECK(version_of_store(database) == 9);
  CHECK(database.integer("SELECT count(*) FROM runs") == 1);
}

TEST_CASE("a_database_of_another_program_is_moved_aside") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {});
  folder.put("w/runs.sqlite", "");
  Database(store_path(folder / "w"), {}).run("CREATE TABLE things(x); PRAGMA user_version = 1;");
  RunStore store(folder / "w");
  CHECK(folders_of(store).size() == 1);
  CHECK(all_notes(store).find("another program") != std::string::npos);
  CHECK(all_notes(store).find("runs.sqlite.damaged-") != std::string::npos);
}

TEST_CASE("without_a_place_for_the_store_the_runs_are_read_from_their_folders") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.events = progress_lines(3)});
  fs::create_directories(store_path(folder / "w"));  // a folder where the file should be; root may write anywhere
  RunStore store(folder / "w");
  CHECK(store.find("latest").step == 3);
  CHECK(all_notes(store).find("cannot be used") != std::string::npos);
  CHECK_THROWS_WITH_AS(store.remove(store.find("latest")), doctest::Contains("cannot be changed"), base::Error);
  CHECK(fs::exists(folder / "w/runs/20260102-030405-dog"));
}

TEST_CASE("runs_that_continue_a_run_are_known") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "a"});
  make_run(folder / "w", {.folder = "b", .parent = run_id("a")});
  RunStore store(folder / "w");
  CHECK(store.find("b").parent == run_id("a"));
  CHECK(store.descendants(run_id("a")) == std::vector<std::string>{run_id("b")});
}

TEST_CASE("a_run_that_is_just_starting_is_no_row_until_its_record_is_there") {
  const formats::TemporaryFolder folder;
  fs::create_directories(folder / "w/runs/20260102-030405-dog");
  CHECK(RunStore(folder / "w").runs({}).empty());
  make_run(folder / "w", {.state = "running", .process = this_process()});
  RunStore store(folder / "w");
  CHECK(store.find("latest").command == "train");
  CHECK(store.find("latest").state == "running");
}

TEST_CASE("a_row_without_its_command_is_filled_after_the_run_has_ended") {
  const formats::TemporaryFolder folder;
  const fs::path run = folder / "w/runs/20260102-030405-dog";
  fs::create_directories(run);
  fs::last_write_time(run, fs::last_write_time(run) - std::chrono::hours(1));
  RunStore(folder / "w").runs({});
  base::write_file(run / "run.json", R"({"state": "done", "exit_status": 0})");
  CHECK(RunStore(folder / "w").find("latest").command.empty());
  CHECK(RunStore(folder / "w").find("latest").state == "done");
  make_run(folder / "w", {.parent = "abc"});
  CHECK(RunStore(folder / "w").find("latest").command == "train");
  CHECK(RunStore(folder / "w").find("latest").parent == "abc");
}

TEST_CASE("a_run_in_the_bin_is_found_by_its_name") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "20260101-000000-a", .name = "rex"});
  make_run(folder / "w", {.folder = "20260102-000000-b", .name = "rex"});
  make_run(folder / "w", {.folder = "20260103-000000-c", .name = "cat"});
  RunStore store(folder / "w");
  store.remove(store.find("20260101-000000-a"));
  CHECK(store.find("rex").folder == "20260102-000000-b");
  CHECK(store.find("rex", SeveralFit::Refuse, LookIn::Bin).folder == "20260101-000000-a");
  CHECK(store.find("latest", SeveralFit::Refuse, LookIn::Bin).folder == "20260101-000000-a");
  CHECK_THROWS_WITH_AS(store.restore(store.find("cat", SeveralFit::Refuse, LookIn::Bin)),
                       doctest::Contains("is not in the bin"), base::Error);
  store.restore(store.find("rex", SeveralFit::Refuse, LookIn::Bin));
  CHECK(folders_of(store, {.is_removed = true}).empty());
}

TEST_CASE("a_name_never_hides_another_run_or_the_word_latest") {
  const formats::TemporaryFolder folder;
  make_run(folder / "w", {.folder = "20260101-000000-a", .name = "rex"});
  const std::string other = run_id("20260102-000000-b");
  make_run(folder / "w", {.folder = "20260102-000000-b", .name = "cat"});
  RunStore store(folder / "w");
  const RunRow rex = store.find("rex");
  for (const std::string& name : {std::string("latest"), other, other.substr(0, 7), std::string("20260102-000000-b")}) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(store.rename(rex, name), doctest::Contains("cannot be called"), base::Error);
  }
  CHECK(store.find("rex").id == rex.id);
  store.rename(rex, rex.id.substr(0, 7));  // its own is no other's
  // A run may have been given such a name when it was started.
  write_run_name(folder / "w/runs/20260101-000000-a", other.substr(0, 7));
  RunStore fresh(folder / "w");
  CHECK_THROWS_WITH_AS(fresh.find(other.substr(0, 7), SeveralFit::TakeNewest), doctest::Contains("fits several runs"),
                       base::Error);
}

TEST_CASE("many_new_runs_are_told_and_all_taken_in") {
  const formats::TemporaryFolder folder;
  for (int i = 0; i < 205; ++i) {
    const fs::path run = folder / "w/runs" / ("20260102-" + std::to_string(100000 + i) + "-dog");
    fs::create_directories(run);
    append(run / "run.json", R"({"command": "train", "state": "done", "exit_status": 0})");
  }
  std::vector<std::string> told;
  const auto tell = [&](const std::string& text) { told.push_back(text); };
  RunStore store(folder / "w", tell);
  CHECK(store.runs({}).size() == 205);
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("Taking 205 runs into the store of runs") != std::string::npos);
  RunStore(folder / "w", tell).runs({});
  CHECK(told.size() == 1);
}

TEST_CASE("waiting_for_a_program_that_makes_the_store_is_told") {
  const formats::TemporaryFolder folder;
  folder.put("w/.runs.lock", "");
  const base::Descriptor lock(::open((folder / "w/.runs.lock").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
  std::atomic<bool> stop{false};
  std::string told;
  const auto tell = [&](const std::string& text) {
    told += text;
    stop = true;
  };
  std::vector<std::string> notes;
  const Patience patience{.stop = &stop, .tell = tell, .tell_after = std::chrono::milliseconds(0)};
  CHECK_THROWS_AS(open_store(folder / "w", patience, notes), base::Error);
  CHECK(told.find("holds " + (folder / "w/.runs.lock").string()) != std::string::npos);
}

TEST_CASE("a_series_is_read_along_its_key") {
  // 100,000 points of one run must not cost a look at those of all others.
  Database database;
  bring_to_version(database);
  Statement plan(database,
                 "EXPLAIN QUERY PLAN SELECT step, value, time FROM metrics WHERE run = 1 AND series ="
                 " (SELECT series FROM series WHERE name = 'loss') ORDER BY step");
  std::string text;
  while (plan.step()) text += plan.text(3) + "\n";
  CHECK(text.find("SEARCH metrics USING PRIMARY KEY (run=? AND series=?)") != std::string::npos);
  CHECK(text.find("SCAN") == std::string::npos);
  CHECK(text.find("TEMP B-TREE") == std::string::npos);
}

}  // namespace

}  // namespace cinnabar::jobs
