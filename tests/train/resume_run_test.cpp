#include "cinnabar/train/resume_run.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/run_id.h"
#include "cinnabar/train/resume.h"
#include "cinnabar/train/run_data.h"
#include "formats/temporary_folder.h"

namespace cinnabar::train {

namespace {

namespace fs = std::filesystem;

struct StateFixture {
  int64_t step = 0;
  std::vector<std::string> runs{};
  std::string lineage = "one";
  int64_t saved_ms = 1;  // after kLongAgo
};

constexpr int64_t kLongAgo = 1796000000000;

// As write_state leaves it, without tensors.
void put_state(const fs::path& folder, const StateFixture& fixture) {
  const nlohmann::json json{{"lineage", fixture.lineage},
                            {"saved_ms", kLongAgo + fixture.saved_ms},
                            {"runs", fixture.runs},
                            {"position",
                             {{"step", fixture.step},
                              {"scheduled_steps", fixture.step},
                              {"micro_step", fixture.step},
                              {"epoch", 1},
                              {"batches", fixture.step},
                              {"epoch_first_step", 0},
                              {"bad_losses", 0}}},
                            {"seed", 1},
                            {"model_hash", ""},
                            {"data_hash", ""},
                            {"max_train_steps", 100},
                            {"batches_per_epoch", 100},
                            {"options", {{"output_name", "n"}}},
                            {"loss_scale", {{"scale", 1.0}, {"good_steps", 0}}},
                            {"ema_updates", 0},
                            {"loss_window", {{"values", nlohmann::json::array()}, {"position", 0}}},
                            {"validation", nlohmann::json::array()},
                            {"saved_files", nlohmann::json::object()}};
  base::FolderWriter writer(folder);
  base::write_file(writer.file("state.json"), json.dump());
  writer.commit(kStateKind, kStateVersion);
}

std::string taken(const std::string& resume, const fs::path& folder, std::string* told = nullptr) {
  base::RecordedEvents events;
  const SavedState state = state_of_run(resume, folder, "n", events);
  for (const std::string& line : events.lines())
    if (told != nullptr) *told += line;
  return state.folder.filename().string();
}

TEST_CASE("a_run_goes_on_from_its_own_state_although_another_one_of_its_name_is_newer") {
  const formats::TemporaryFolder folder;
  put_state(folder / "n-step00000006-state", {.step = 6, .runs = {"aaaa1111"}, .lineage = "first", .saved_ms = 5});
  put_state(folder / "n-state", {.step = 9, .runs = {"bbbb2222"}, .lineage = "second", .saved_ms = 9});
  CHECK(taken("run:aaaa1111", folder / "") == "n-step00000006-state");
  CHECK(taken("run:aaaa", folder / "") == "n-step00000006-state");
  CHECK(taken("run:bbbb2222", folder / "") == "n-state");
}

TEST_CASE("a_run_without_a_state_is_refused_and_what_is_there_is_named") {
  const formats::TemporaryFolder folder;
  put_state(folder / "n-state", {.step = 9, .runs = {"bbbb2222"}});
  CHECK_THROWS_WITH_AS(taken("run:aaaa1111", folder / ""),
                       doctest::Contains("n-state (step 9, of run bbbb2222); --resume FOLDER takes one."), base::Error);
  CHECK_THROWS_WITH_AS(taken("run:aaaa1111", folder / "none"), doctest::Contains("no complete state"), base::Error);
  for (const char* wrong : {"run:", "run:abc", "run:aaaa@x", "run:aaaa1111,"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(taken(wrong, folder / ""), base::Error);
  }
}

TEST_CASE("auto_takes_the_training_that_was_begun_last_although_an_older_one_was_further") {
  const formats::TemporaryFolder folder;
  put_state(folder / "n-state", {.step = 20, .runs = {"aaaa1111"}, .lineage = "first", .saved_ms = 5});
  put_state(folder / "n-step00000018-state", {.step = 18, .runs = {"bbbb2222"}, .lineage = "second", .saved_ms = 9});
  const std::vector<fs::path> states = states_in(folder / "", "n");
  REQUIRE(states.size() == 2);
  CHECK(states[0].filename() == "n-step00000018-state");
  CHECK(summary_of_state(states[0]).step == 18);
  CHECK(summary_of_state(states[0]).runs == std::vector<std::string>{"bbbb2222"});
}

TEST_CASE("what_continued_a_run_counts_as_its_own_before_what_branched_off") {
  const formats::TemporaryFolder folder;
  put_state(folder / "n-step00000006-state", {.step = 6, .runs = {"aaaa1111"}, .lineage = "first", .saved_ms = 6});
  put_state(folder / "n-step00000008-state", {.step = 8, .runs = {"bbbb2222", "aaaa1111"}, .lineage = "first"});
  put_state(folder / "n-state", {.step = 9, .runs = {"cccc3333", "aaaa1111"}, .lineage = "branch", .saved_ms = 9});
  std::string told;
  CHECK(taken("run:aaaa1111", folder / "", &told) == "n-step00000008-state");
  CHECK(told.find("was saved by run bbbb2222, which continues run aaaa1111") != std::string::npos);
}

TEST_CASE("a_run_that_saved_nothing_goes_on_from_where_it_went_on") {
  const formats::TemporaryFolder folder;
  put_state(folder / "n-step00000006-state", {.step = 6, .runs = {"aaaa1111"}});
  put_state(folder / "n-state", {.step = 9, .runs = {"aaaa1111"}});
  std::string told;
  CHECK(taken("run:dddd4444,aaaa1111@6", folder / "", &told) == "n-step00000006-state");
  CHECK(told.find("which is continued by run dddd4444") != std::string::npos);
  CHECK(taken("run:dddd4444,aaaa1111", folder / "") == "n-state");
}

TEST_CASE("a_torn_state_of_a_run_is_passed_over_and_told") {
  const formats::TemporaryFolder folder;
  put_state(folder / "n-step00000006-state", {.step = 6, .runs = {"aaaa1111"}});
  put_state(folder / "n-state", {.step = 9, .runs = {"aaaa1111"}});
  fs::remove(folder / "n-state/manifest.json");
  std::string told;
  CHECK(taken("run:aaaa1111", folder / "", &told) == "n-step00000006-state");
  CHECK(told.find("is passed over") != std::string::npos);
}

TEST_CASE("a_state_names_its_run_and_all_that_it_continues_once") {
  schema::Values values;
  CHECK(runs_of(values, std::nullopt).empty());
  values.set(kRunFolder, std::string("/w/runs/20260102-030405-n"));
  const std::string own = base::run_id("20260102-030405-n");
  CHECK(runs_of(values, std::nullopt) == std::vector<std::string>{own});
  SavedState resumed;
  resumed.identity.runs = {"bbbb", "aaaa"};
  CHECK(runs_of(values, resumed) == std::vector<std::string>{own, "bbbb", "aaaa"});
}

TEST_CASE("a_training_that_begins_anew_says_that_states_of_its_name_are_there") {
  const formats::TemporaryFolder folder;
  schema::Values values;
  values.set("output_dir", (folder / "").string());
  values.set("output_name", std::string("n"));
  base::RecordedEvents none;
  CHECK(!state_to_resume(values, none));
  CHECK(none.lines().empty());
  put_state(folder / "n-state", {.step = 9, .runs = {"aaaa1111"}});
  base::RecordedEvents events;
  CHECK(!state_to_resume(values, events));
  REQUIRE(events.lines().size() == 1);
  CHECK(events.lines()[0].find("n-state (step 9) is of an earlier one of this name") != std::string::npos);
}

// What explain_changes tells, and what it returns.
std::pair<std::string, bool> explained(const RunIdentity& before, const RunIdentity& now) {
  SavedState state;
  state.identity = before;
  base::RecordedEvents events;
  const bool is_same = explain_changes(state, now, events);
  std::string text;
  for (const std::string& line : events.lines()) text += line;
  return {text, is_same};
}

TEST_CASE("weights_to_begin_with_have_no_effect_with_resume") {
  RunIdentity before;
  RunIdentity now;
  now.options = {{"network_weights", "w.safetensors"}};
  CHECK(explained(before, now).first.find("w.safetensors has no effect with resume") != std::string::npos);
  CHECK(explained(now, before).first.empty());
}

TEST_CASE("other_batches_of_the_same_pictures_are_not_called_other_pictures") {
  const RunIdentity before{.data_hash = "a", .pictures_hash = "p", .picture_times = "t"};
  const RunIdentity batches{.data_hash = "b", .pictures_hash = "p", .picture_times = "t"};
  const RunIdentity pictures{.data_hash = "b", .pictures_hash = "q", .picture_times = "u"};
  const RunIdentity written{.data_hash = "a", .pictures_hash = "p", .picture_times = "u"};
  const RunIdentity older{.data_hash = "a"};
  CHECK(explained(before, before) == std::pair(std::string(), true));
  CHECK(explained(before, batches).first.find("they fall into other batches now") != std::string::npos);
  CHECK(!explained(before, batches).second);
  CHECK(explained(before, pictures).first.find("The data set has changed") != std::string::npos);
  CHECK(!explained(before, pictures).second);
  CHECK(explained(before, written).first.find("written anew since the state was saved") != std::string::npos);
  CHECK(explained(before, written).second);
  CHECK(explained(older, written) == std::pair(std::string(), true));
}

}  // namespace

}  // namespace cinnabar::train
