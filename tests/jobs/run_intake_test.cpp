#include "cinnabar/jobs/run_intake.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/jobs/file_facts.h"
#include "cinnabar/jobs/run_record.h"
#include "cinnabar/jobs/store_schema.h"
#include "formats/temporary_folder.h"
#include "jobs/run_fixture.h"

namespace cinnabar::jobs {

namespace {

const auto kNever = [] { return false; };

struct Store {
  Store() { bring_to_version(database); }
  int64_t count(const std::string& table) {
    Statement select(database, "SELECT count(*) FROM " + table);
    select.step();
    return select.integer(0);
  }
  std::string text(const char* sql) {
    Statement select(database, sql);
    return select.step() ? select.text(0) : "no row";
  }
  Database database;
};

TEST_CASE("events_become_metrics_files_inputs_and_state") {
  const formats::TemporaryFolder folder;
  const std::string model = folder.put("w/out/dog.safetensors", "weights");
  const auto path = make_run(
      folder / "w",
      {.events = {
           R"({"type":"phase","text":"Loading","time":1000.5})",
           R"({"type":"input","kind":"model","path":"base.safetensors","sha256":"aa","text":"whole","time":1001})",
           R"({"type":"progress","phase":"cache_latents","step":1,"total":2})", progress_line(1, 0.5),
           R"({"type":"progress","phase":"train","step":2,"total":2,"loss":"nan","new_thing":3})",
           R"({"type":"saved","path":"out/dog.safetensors","kind":"adapter","step":2,"epoch":1})"}});
  Store store;
  const Intake intake = take_in(store.database, path, {});
  CHECK(intake.is_complete);
  CHECK(intake.lines == 6);
  CHECK(store.count("metrics") == 4);  // loss twice, learning_rate, new_thing
  CHECK(store.text("SELECT value FROM metrics NATURAL JOIN series WHERE name = 'loss' AND step = 2") == "nan");
  CHECK(store.count("events") == 3);  // progress is in the metrics
  CHECK(store.text("SELECT state FROM runs") == "done");
  CHECK(store.text("SELECT step || '/' || total FROM runs") == "2/2");
  CHECK(store.text("SELECT kind || path || sha256 || note FROM inputs") ==
        "model" + (folder / "w/base.safetensors").string() + "aawhole");
  CHECK(store.text("SELECT path FROM files") == model);
  CHECK(complete_files(store.database, intake.run, kNever));
}

TEST_CASE("taking_a_run_in_again_changes_nothing_and_new_lines_are_added") {
  const formats::TemporaryFolder folder;
  const auto path = make_run(folder / "w", {.events = progress_lines(10)});
  Store store;
  take_in(store.database, path, {});
  CHECK(take_in(store.database, path, {}).lines == 0);
  CHECK(store.count("metrics") == 20);
  append(path / "events.jsonl", progress_line(11, 0.1) + "\n");
  CHECK(take_in(store.database, path, {}).lines == 1);
  CHECK(store.count("metrics") == 22);
  CHECK(store.count("runs") == 1);
}

TEST_CASE("a_row_from_before_the_record_was_there_is_filled") {
  const formats::TemporaryFolder folder;
  const auto early = folder / "w/runs/20260102-030405-dog";
  std::filesystem::create_directories(early);
  Store store;
  take_in(store.database, early, {});
  CHECK(store.text("SELECT command || pid FROM runs") == "0");
  make_run(folder / "w", {.state = "running", .process = this_process(), .name = "rex", .parent = "abc"});
  take_in(store.database, early, {});
  CHECK(store.text("SELECT command || state || name || parent FROM runs") == "trainrunningrexabc");
  CHECK(store.text("SELECT work_folder FROM runs") == (folder / "w").string());
  CHECK(store.text("SELECT pid FROM runs") == std::to_string(this_process().pid));
  CHECK(store.text("SELECT config_toml FROM runs") == "network_dim = 8\n");
  CHECK(store.count("config") == 2);
  CHECK(store.count("runs") == 1);
}

TEST_CASE("a_line_that_is_still_being_written_waits") {
  const formats::TemporaryFolder folder;
  const auto path = make_run(folder / "w", {.state = "running", .process = this_process()});
  const std::string line = progress_line(1, 0.5);
  append(path / "events.jsonl", line.substr(0, 10));
  Store store;
  CHECK(take_in(store.database, path, {}).lines == 0);
  append(path / "events.jsonl", line.substr(10) + "\n");
  CHECK(take_in(store.database, path, {}).lines == 1);
  CHECK(store.count("metrics") == 2);
}

TEST_CASE("torn_and_foreign_lines_are_passed_over") {
  const formats::TemporaryFolder folder;
  const auto path = make_run(
      folder / "w",
      {.events = {"{\"type\":\"pro" + progress_line(1, 0.5), "", "[1]", "{}", R"({"type":5})", std::string("\0\xff", 2),
                  std::string(5000, '['), R"({"type":"progress","phase":"train","step":"one"})", R"({"type":"saved"})",
                  R"({"type":"new_kind","x":1})", progress_line(2, 0.5)}});
  Store store;
  CHECK(take_in(store.database, path, {}).is_complete);
  CHECK(store.count("metrics") == 2);
  CHECK(store.count("files") == 0);
  CHECK(store.text("SELECT type FROM events WHERE type = 'new_kind'") == "new_kind");
}

TEST_CASE("long_records_are_taken_in_pieces_and_may_be_cut_off_between_them") {
  const formats::TemporaryFolder folder;
  const auto path = make_run(folder / "w", {.events = progress_lines(9000)});  // over 1 MiB
  Store store;
  const Intake part = take_in(store.database, path, {.is_over = [] { return true; }});
  CHECK_FALSE(part.is_complete);
  CHECK(part.lines < 9000);
  // Not done while events are missing, so that the rest is looked for.
  CHECK(store.text("SELECT state FROM runs") == "running");
  const Intake rest = take_in(store.database, path, {});
  CHECK(part.lines + rest.lines == 9000);
  CHECK(store.count("metrics") == 18000);
  CHECK(store.text("SELECT state FROM runs") == "done");
}

TEST_CASE("one_line_longer_than_a_piece_does_not_stop_the_rest") {
  const formats::TemporaryFolder folder;
  const auto path = make_run(folder / "w", {.events = {std::string(3'000'000, 'x'), progress_line(1, 0.5)}});
  Store store;
  CHECK(take_in(store.database, path, {}).is_complete);
  CHECK(store.count("metrics") == 2);
}

TEST_CASE("a_run_without_its_process_is_crashed_unless_its_events_say_how_it_ended") {
  const formats::TemporaryFolder folder;
  Store store;
  const auto state_of = [&](const std::string& name, const ProcessIdentity& process, std::vector<std::string> events) {
    const auto path =
        make_run(folder / "w", {.folder = name, .state = "running", .process = process, .events = std::move(events)});
    const Intake intake = take_in(store.database, path, {});
    Statement select(store.database, "SELECT state FROM runs WHERE run = ?1");
    select.bind(intake.run).step();
    return select.text(0);
  };
  CHECK(state_of("a", this_process(), {}) == "running");
  CHECK(state_of("b", gone_process(), {progress_line(1, 0.5)}) == "crashed");
  CHECK(state_of("c", gone_process(), {R"({"type":"result","loss":1})"}) == "done");
  CHECK(state_of("d", gone_process(), {R"({"type":"error","text":"x"})"}) == "failed");
  CHECK(store.text("SELECT ended FROM runs WHERE folder = 'b'") == "1001.0");
  ProcessIdentity elsewhere = this_process();
  elsewhere.host += "-other";
  CHECK(state_of("e", elsewhere, {}) == "running");
}

TEST_CASE("files_get_their_hash_and_changes_are_noticed") {
  const formats::TemporaryFolder folder;
  folder.put("w/a", "content");
  folder.put("w/b", "content");
  folder.put("w/state/one", "1");
  folder.put("w/state/deep/two", "2");
  const auto saved = [](const std::string& name, const std::string& more = "") {
    return R"({"type":"saved","kind":"adapter","step":1,"path":")" + name + "\"" + more + "}";
  };
  const auto path = make_run(folder / "w", {.events = {saved("a"), saved("b"), saved("state"), saved("gone"),
                                                       saved("given", R"(,"sha256":"ff")")}});
  Store store;
  const Intake intake = take_in(store.database, path, {});
  folder.put("w/b", "other content");
  CHECK(complete_files(store.database, intake.run, kNever));
  const auto of = [&](const std::string& name) {
    Statement select(store.database,
                     "SELECT coalesce(sha256, '-') || ' ' || coalesce(note, '-') FROM files WHERE path = ?1");
    select.bind((folder / ("w/" + name)).string()).step();
    return select.text(0);
  };
  CHECK(of("a") == base::sha256_hex("content") + " -");
  CHECK(of("b") == "- changed since it was saved");
  CHECK(of("gone") == "- gone");
  CHECK(of("given").starts_with("ff "));
  const std::string state = of("state");
  CHECK(state.size() == 64 + 2);
  CHECK(hash_of(folder / "w/state", kNever) == state.substr(0, 64));
  folder.put("w/state/deep/two", "3");
  CHECK(hash_of(folder / "w/state", kNever) != state.substr(0, 64));
  folder.put("w/state/manifest.json", "{}");
  CHECK(hash_of(folder / "w/state", kNever) == base::sha256_hex("{}"));
}

TEST_CASE("a_file_that_was_written_after_its_event_is_not_that_file") {
  const formats::TemporaryFolder folder;
  folder.put("w/a", "of a later run");
  const auto path =
      make_run(folder / "w", {.events = {R"({"type":"saved","kind":"adapter","path":"a","step":1,"time":1000})"}});
  Store store;
  const Intake intake = take_in(store.database, path, {});
  complete_files(store.database, intake.run, kNever);
  CHECK(store.text("SELECT note FROM files") == "changed since it was saved");
  CHECK(store.text("SELECT sha256 FROM files") == "");
}

TEST_CASE("hashing_stops_when_told") {
  const formats::TemporaryFolder folder;
  CHECK_FALSE(hash_of(folder.put("a", "content"), [] { return true; }));
  CHECK_FALSE(hash_of(folder / "missing", kNever));
}

TEST_CASE("a_run_that_began_from_a_state_continues_the_run_that_saved_it") {
  const formats::TemporaryFolder folder;
  folder.put("w/out/state-5/x", "x");
  Store store;
  take_in(store.database,
          make_run(folder / "w",
                   {.folder = "first", .events = {R"({"type":"saved","kind":"state","path":"out/state-5","step":5})"}}),
          {});
  take_in(
      store.database,
      make_run(folder / "w", {.folder = "second", .events = {R"({"type":"resumed","path":"out/state-5","step":5})"}}),
      {});
  CHECK(store.text("SELECT parent FROM runs WHERE folder = 'second'") == run_id("first"));
  CHECK(store.text("SELECT parent FROM runs WHERE folder = 'first'") == "");
}

}  // namespace

}  // namespace cinnabar::jobs
