#include "cinnabar/jobs/run_recorder.h"

#include <doctest/doctest.h>

#include "cinnabar/jobs/run_store.h"
#include "formats/temporary_folder.h"
#include "jobs/run_fixture.h"

namespace cinnabar::jobs {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kOften(2);
constexpr std::chrono::seconds kPatience(5);

// Polls until `is_there`, for a few seconds at most.
template <class Condition>
bool comes(const Condition& is_there) {
  for (int i = 0; i < 1000; ++i) {
    if (is_there()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

int64_t steps_in_store(const fs::path& workspace) {
  // Looked at without RunStore, which would take in by itself.
  if (!fs::exists(store_path(workspace))) return -1;
  try {
    Database database(store_path(workspace), {});
    return database.integer("SELECT step FROM runs").value_or(-1);
  } catch (const SqliteError&) {
    return -1;  // being made
  }
}

TEST_CASE("the_store_follows_a_run_while_it_goes_on") {
  const formats::TemporaryFolder folder;
  const fs::path path =
      make_run(folder / "w", {.state = "running", .process = this_process(), .events = progress_lines(3)});
  RunRecorder recorder(folder / "w", path, kOften);
  CHECK(comes([&] { return steps_in_store(folder / "w") == 3; }));
  append(path / "events.jsonl", progress_line(4, 0.5) + "\n");
  CHECK(comes([&] { return steps_in_store(folder / "w") == 4; }));
  make_run(folder / "w", {.state = "done", .events = {progress_line(5, 0.5)}});
  recorder.finish(kPatience);
  CHECK(recorder.take_warnings().empty());
  RunStore store(folder / "w");
  CHECK(store.find("latest").step == 5);
  CHECK(store.find("latest").state == "done");
}

TEST_CASE("the_end_of_a_run_does_not_wait_for_the_next_look") {
  const formats::TemporaryFolder folder;
  const fs::path path = make_run(folder / "w", {.events = progress_lines(3)});
  RunRecorder recorder(folder / "w", path, std::chrono::hours(1));
  recorder.finish(kPatience);
  CHECK(steps_in_store(folder / "w") == 3);
}

TEST_CASE("a_store_that_cannot_be_made_is_told_once") {
  const formats::TemporaryFolder folder;
  const fs::path path = make_run(folder / "w", {});
  fs::create_directories(store_path(folder / "w"));
  RunRecorder recorder(folder / "w", path, kOften);
  std::vector<std::string> warnings;
  CHECK(comes([&] {
    for (const std::string& text : recorder.take_warnings()) warnings.push_back(text);
    return !warnings.empty();
  }));
  recorder.finish(kPatience);
  for (const std::string& text : recorder.take_warnings()) warnings.push_back(text);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("The run goes on") != std::string::npos);
}

TEST_CASE("a_store_that_another_program_holds_does_not_delay_the_end") {
  const formats::TemporaryFolder folder;
  const fs::path path = make_run(folder / "w", {.events = progress_lines(3)});
  {
    const RunStore made(folder / "empty");
  }
  fs::copy_file(store_path(folder / "empty"), store_path(folder / "w"));
  Database other(store_path(folder / "w"), {});
  Transaction held(other);
  RunRecorder recorder(folder / "w", path, kOften);
  const auto start = std::chrono::steady_clock::now();
  recorder.finish(std::chrono::milliseconds(20));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  held.commit();
  CHECK(RunStore(folder / "w").find("latest").step == 3);
}

TEST_CASE("a_damaged_store_is_put_aside_while_the_run_goes_on") {
  const formats::TemporaryFolder folder;
  const fs::path path = make_run(folder / "w", {.events = progress_lines(3)});
  folder.put("w/runs.sqlite", std::string(8192, 'x'));
  RunRecorder recorder(folder / "w", path, kOften);
  recorder.finish(kPatience);
  const std::vector<std::string> warnings = recorder.take_warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("damaged") != std::string::npos);
  CHECK(steps_in_store(folder / "w") == 3);
}

TEST_CASE("a_store_that_was_replaced_is_followed") {
  const formats::TemporaryFolder folder;
  const fs::path path =
      make_run(folder / "w", {.state = "running", .process = this_process(), .events = progress_lines(3)});
  RunRecorder recorder(folder / "w", path, kOften);
  CHECK(comes([&] { return steps_in_store(folder / "w") == 3; }));
  for (const char* part : {"-wal", "-shm", ""})
    fs::rename(folder / ("w/runs.sqlite" + std::string(part)), folder / ("aside" + std::string(part)));
  append(path / "events.jsonl", progress_line(4, 0.5) + "\n");
  CHECK(comes([&] { return steps_in_store(folder / "w") == 4; }));
}

}  // namespace

}  // namespace cinnabar::jobs
