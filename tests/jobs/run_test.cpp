#include "cinnabar/jobs/run.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/jobs/run_record.h"
#include "cinnabar/jobs/run_store.h"
#include "formats/temporary_folder.h"

namespace cinnabar::jobs {

namespace {

using nlohmann::ordered_json;

schema::Schema schema_of_test() {
  return schema::Schema({{{.name = "output_name", .type = schema::Type::Text, .fallback = "last"},
                          {.name = "sample_prompts", .type = schema::Type::Path},
                          {.name = "seed", .type = schema::Type::Int}}});
}

struct Outcome {
  RunOutcome outcome;
  std::vector<ordered_json> events;
  std::vector<std::string> lines;
  std::vector<int> interruptions;
};

// Runs the fake worker; sends this process as many SIGTERM as `signals` says, one when "ready", the next at each event.
Outcome run_act(const std::string& act, const formats::TemporaryFolder& folder, int signals = 0,
                std::optional<int64_t> seed = 1) {
  schema::Config config{.command = "train"};
  config.values.set("output_name", act);
  if (seed) config.values.set("seed", *seed);
  Outcome result;
  int sent = 0;
  const RunHandlers handlers{.event =
                                 [&](const ordered_json& event) {
                                   result.events.push_back(event);
                                   if (sent < signals && event["type"] == "log") {
                                     ++sent;
                                     ::kill(::getpid(), SIGTERM);
                                   }
                                 },
                             .engine_line = [&](const std::string& line) { result.lines.push_back(line); },
                             .interrupted = [&](int count) { result.interruptions.push_back(count); }};
  const Engine engine{.worker = std::string(CINNABAR_BIN_DIR) + "/cinnabar-fake-worker", .torch = folder / "torch"};
  result.outcome = run(schema_of_test(), config, engine, folder / "workspace", handlers);
  return result;
}

TEST_CASE("passes_events_on_and_keeps_a_record") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("done", folder);
  CHECK(run.outcome.exit_status == 0);
  CHECK(run.outcome.message.empty());
  REQUIRE(run.events.size() == 2);
  CHECK(run.events[0]["type"] == "progress");
  CHECK(run.outcome.saved == std::vector<std::string>{"a.safetensors"});
  const std::filesystem::path record = run.outcome.record;
  for (const char* file : {"config.json", "config.toml", "run.json"}) CHECK(std::filesystem::exists(record / file));
  const std::string lines = base::read_file(record / "events.jsonl");
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
  CHECK(ordered_json::parse(base::read_file(record / "run.json"))["state"] == "done");
  struct stat status{};
  ::stat(record.c_str(), &status);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a_seed_that_is_drawn_is_told_and_recorded") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("done", folder, 0, std::nullopt);
  REQUIRE(run.events.size() == 3);
  const auto config = ordered_json::parse(base::read_file(run.outcome.record / "config.json"));
  CHECK(run.events[0]["text"] ==
        "seed was not given; this run uses " + std::to_string(config["values"]["seed"].get<int64_t>()) + ".");
}

TEST_CASE("a_run_is_in_the_store_when_it_ends") {
  const formats::TemporaryFolder folder;
  const double before = now_s();
  const Outcome run = run_act("done", folder);
  CHECK(run.events[0].contains("time"));
  // Opened without a look into the folders: the run itself wrote this.
  Database database(store_path(folder / "workspace"), {});
  Statement select(database, "SELECT state, step, started, ended, program_version FROM runs");
  REQUIRE(select.step());
  CHECK(select.text(0) == "done");
  CHECK(select.integer(1) == 2);
  CHECK(select.number(2) >= before);
  CHECK(select.number(3) >= select.number(2));
  CHECK(select.text(4) == CINNABAR_VERSION);
  CHECK(read_record(run.outcome.record).process == this_process());
}

TEST_CASE("a_store_that_cannot_be_written_is_a_warning_and_the_run_is_done") {
  const formats::TemporaryFolder folder;
  std::filesystem::create_directories(store_path(folder / "workspace"));
  const Outcome run = run_act("done", folder);
  CHECK(run.outcome.exit_status == 0);
  REQUIRE(run.events.size() == 3);
  std::vector<std::string> types;
  for (const ordered_json& event : run.events) types.push_back(event["type"]);
  CHECK(std::count(types.begin(), types.end(), "warning") == 1);
}

TEST_CASE("an_engine_that_cannot_be_started_leaves_a_failed_run") {
  const formats::TemporaryFolder folder;
  const schema::Config config{.command = "train"};
  CHECK_THROWS_AS(
      run(schema_of_test(), config, {.worker = folder / "none", .torch = folder / "torch"}, folder / "workspace", {}),
      base::Error);
  RunStore store(folder / "workspace");
  CHECK(store.find("latest").state == "failed");
  CHECK(store.find("latest").message.find("cannot start") != std::string::npos);
}

TEST_CASE("an_error_of_the_engine_gives_its_words_and_status") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("error", folder);
  CHECK(run.outcome.exit_status == 70);
  CHECK(run.outcome.message == "the device failed. Nothing had been saved yet.");
  CHECK(ordered_json::parse(base::read_file(run.outcome.record / "run.json"))["state"] == "failed");
}

TEST_CASE("a_crash_is_explained_with_what_was_saved") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("crash", folder);
  CHECK(run.outcome.exit_status == 1);
  CHECK(run.outcome.message.find("crashed after step 5") != std::string::npos);
  CHECK(run.outcome.message.find("Saved before: a.safetensors.") != std::string::npos);
}

TEST_CASE("the_last_words_of_a_driver_are_explained_with_what_was_saved") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("gpu_fault", folder);
  CHECK(run.outcome.exit_status == 70);
  for (const char* words :
       {"crashed after step 5", "memory access fault on the GPU", "What to do:", "Saved before: a.safetensors."}) {
    CAPTURE(words);
    CHECK(run.outcome.message.find(words) != std::string::npos);
  }
}

TEST_CASE("a_kill_from_outside_is_explained_as_lack_of_memory") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("killed", folder);
  CHECK(run.outcome.message.find("memory ran out") != std::string::npos);
  CHECK(run.outcome.message.find("Nothing had been saved yet.") != std::string::npos);
}

TEST_CASE("an_engine_that_memory_or_threads_ran_out_for_is_no_bug") {
  const formats::TemporaryFolder folder;
  const Outcome memory = run_act("no_memory", folder);
  CHECK(memory.outcome.exit_status == 1);
  CHECK(memory.outcome.message.find("memory ran out") != std::string::npos);
  const Outcome threads = run_act("no_threads", folder);
  CHECK(threads.outcome.exit_status == 1);
  CHECK(threads.outcome.message.find("no further thread could be started") != std::string::npos);
  for (const std::string& text : {memory.outcome.message, threads.outcome.message})
    CHECK(text.find("bug") == std::string::npos);
}

TEST_CASE("a_crash_under_a_limit_of_addresses_names_the_limit") {
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  rlimit limited = before;
  limited.rlim_cur = rlim_t{1} << 46;
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("crash", folder);
  ::setrlimit(RLIMIT_AS, &before);
  CHECK(run.outcome.message.find("crashed after step 5") != std::string::npos);
  CHECK(run.outcome.message.find("ulimit -v") != std::string::npos);
}

TEST_CASE("an_end_without_an_error_event_gives_the_last_lines") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("silent", folder);
  CHECK(run.outcome.exit_status == 1);  // one of those that callers are promised
  CHECK(run.outcome.message.find("ended with status 3") != std::string::npos);
  CHECK(run.outcome.message.find("last words") != std::string::npos);
  CHECK(base::read_file(run.outcome.record / "engine.log") == "last words\n");
}

TEST_CASE("an_engine_without_its_libraries_ends_with_a_promised_status") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("not_loaded", folder);
  CHECK(run.outcome.exit_status == 1);
  CHECK(run.outcome.message.find("could not be started: a library that it needs is missing") != std::string::npos);
  CHECK(run.outcome.message.find("libtorch_cpu.so") != std::string::npos);
}

TEST_CASE("the_first_signal_lets_the_engine_save") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("stop", folder, 1);
  CHECK(run.outcome.exit_status == 130);
  CHECK(run.interruptions == std::vector<int>{1});
  CHECK(run.outcome.message.find("Saved before: b.safetensors.") != std::string::npos);
}

TEST_CASE("the_second_signal_ends_the_engine_at_once") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("stubborn", folder, 2);
  CHECK(run.outcome.exit_status == 130);
  CHECK(run.interruptions == std::vector<int>{1, 2});
}

TEST_CASE("the_engine_has_the_library_path_of_its_libtorch_alone") {
  const formats::TemporaryFolder folder;
  const Outcome run = run_act("environment", folder);
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0]["text"] == "preload= path=" + (folder / "torch/lib").string());
}

TEST_CASE("runs_of_the_same_second_have_folders_of_their_own") {
  const formats::TemporaryFolder folder;
  const RunFolder first(folder / "workspace", "name");
  const RunFolder second(folder / "workspace", "name");
  CHECK(first.path() != second.path());
}

TEST_CASE("names_of_runs_never_lead_out_of_the_workspace") {
  const formats::TemporaryFolder folder;
  const RunFolder run(folder / "workspace", "../../x/\n y");
  CHECK(run.path().parent_path() == folder / "workspace/runs");
  CHECK(run.path().filename().string().find("..") == std::string::npos);
}

TEST_CASE("attached_texts_become_files_of_the_record") {
  const formats::TemporaryFolder folder;
  schema::Config config{.command = "train", .attachments = {{"sample_prompts", "a cat"}}};
  const RunFolder run(folder / "workspace", "name");
  run.write_config(schema_of_test(), config);
  CHECK(base::read_file(run.path() / "sample_prompts.txt") == "a cat\n");
  const ordered_json written = ordered_json::parse(base::read_file(run.config_file()));
  CHECK(written["values"]["sample_prompts"] == (run.path() / "sample_prompts.txt").string());
}

TEST_CASE("a_workspace_that_cannot_be_made_is_an_error_with_its_path") {
  CHECK_THROWS_WITH_AS(RunFolder("/proc/nowhere", "name"), doctest::Contains("--workspace"), base::Error);
}

TEST_CASE("reads_the_version_of_a_libtorch_folder") {
  const formats::TemporaryFolder folder;
  folder.put("torch/version.py", "from typing import Optional\n__version__ = '2.13.0+cpu'\ndebug = False\n");
  CHECK(torch_version(folder / "torch") == "2.13.0+cpu");
  CHECK(torch_version(folder / "none") == "unknown");
}

}  // namespace

}  // namespace cinnabar::jobs
