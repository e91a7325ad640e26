#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/run_id.h"
#include "cinnabar/formats/checkpoint.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

namespace fs = std::filesystem;

// Seven steps of two micro-batches, a state every two steps; dropouts and shuffled captions show whether the random
// streams go on where they were.
std::vector<std::string> training(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"train",
                                    "--pretrained_model_name_or_path",
                                    "embedded",
                                    "--train_data_dir",
                                    "embedded",
                                    "--output_dir",
                                    "out",
                                    "--output_name",
                                    "run",
                                    "--workspace",
                                    "work",
                                    "--seed",
                                    "5",
                                    "--max_train_steps",
                                    "7",
                                    "--train_batch_size",
                                    "6",
                                    "--gradient_accumulation_steps",
                                    "2",
                                    "--resolution",
                                    "64",
                                    "--network_dim",
                                    "2",
                                    "--network_dropout",
                                    "0.1",
                                    "--learning_rate",
                                    "1e-3",
                                    "--lr_scheduler",
                                    "cosine",
                                    "--shuffle_caption",
                                    "--flip_aug",
                                    "--noise_offset",
                                    "0.05",
                                    "--ema",
                                    "--save_state",
                                    "--save_every_n_steps",
                                    "2"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool holds(const Ended& ended, const std::string& part) { return ended.text.find(part) != std::string::npos; }

// Name -> bytes of all tensors of a file.
std::map<std::string, std::string> tensors_of(const fs::path& path) {
  std::map<std::string, std::string> result;
  const auto file = cinnabar::formats::Checkpoint::open(path);
  for (const auto& [name, view] : file->tensors())
    result[name] = std::string(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  return result;
}

// Step -> loss over all runs of the workspace, a later run's number over an earlier one's.
std::map<int64_t, double> losses_of(const fs::path& workspace) {
  std::vector<fs::path> runs;
  for (const auto& run : fs::directory_iterator(workspace / "runs")) runs.push_back(run.path());
  std::sort(runs.begin(), runs.end());
  std::map<int64_t, double> losses;
  for (const fs::path& run : runs) {
    std::istringstream lines(cinnabar::base::read_file(run / "events.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event["type"] == "progress" && event.value("phase", "") == "train") losses[event["step"]] = event["loss"];
    }
  }
  return losses;
}

void check_equal_states(const fs::path& one, const fs::path& other) {
  for (const char* name : {"parameters.safetensors", "optimizer.safetensors", "ema.safetensors"})
    CHECK(tensors_of(one / name) == tensors_of(other / name));
  const auto state = [](const fs::path& folder) {
    return nlohmann::json::parse(cinnabar::base::read_file(folder / "state.json"));
  };
  CHECK(state(one)["position"] == state(other)["position"]);
  CHECK(state(one)["loss_window"] == state(other)["loss_window"]);
}

}  // namespace

TEST_CASE("a_killed_run_goes_on_and_ends_as_the_unbroken_one") {
  const Program whole;
  const Ended unbroken = whole.run(training({}));
  INFO(unbroken.text);
  REQUIRE(unbroken.status == 0);
  const auto expected = tensors_of(whole.folder() / "out/run.safetensors");
  for (const char* point : {"state.committed:1", "state.optimizer:2", "folder.before_rename:2", "network.before:3"}) {
    CAPTURE(point);
    const Program broken;
    ::setenv("CINNABAR_KILL_AT", point, 1);
    const Ended killed = broken.run(training({}));
    ::unsetenv("CINNABAR_KILL_AT");
    CAPTURE(killed.text);
    REQUIRE(killed.status == 1);
    const Ended resumed = broken.run(training({"--resume", "auto"}));
    CAPTURE(resumed.text);
    REQUIRE(resumed.status == 0);
    CHECK(holds(resumed, "Going on from"));
    CHECK(tensors_of(broken.folder() / "out/run.safetensors") == expected);
    check_equal_states(whole.folder() / "out/run-state", broken.folder() / "out/run-state");
    CHECK(losses_of(broken.folder() / "work") == losses_of(whole.folder() / "work"));
    for (const auto& entry : fs::directory_iterator(broken.folder() / "out"))
      CHECK(!entry.path().filename().string().starts_with("."));
  }
}

TEST_CASE("a_run_that_was_extended_equals_one_that_was_planned_so_and_says_what_changed") {
  const Program program;
  const auto constant = [](const std::string& steps) {
    auto words = training({"--lr_scheduler", "constant"});
    for (size_t i = 0; i < words.size(); ++i)
      if (words[i] == "--max_train_steps") words[i + 1] = steps;
    return words;
  };
  REQUIRE(program.run(constant("3")).status == 0);
  auto more = constant("3");
  more.insert(more.end(), {"--resume", "auto", "--train_more_steps", "2"});
  const Ended extended = program.run(more);
  INFO(extended.text);
  REQUIRE(extended.status == 0);
  CHECK(holds(extended, "The run was planned for 3 steps and now for 5;"));
  const Program planned;
  REQUIRE(planned.run(constant("5")).status == 0);
  CHECK(tensors_of(program.folder() / "out/run.safetensors") == tensors_of(planned.folder() / "out/run.safetensors"));

  // A finished run says so and does nothing else.
  auto finished = constant("5");
  finished.insert(finished.end(), {"--resume", "auto"});
  const Ended nothing = program.run(finished);
  CHECK(nothing.status == 0);
  CHECK(holds(nothing, "All 5 steps are done already"));

  // Other options are explained; other networks refused.
  auto rate = constant("6");
  rate.insert(rate.end(), {"--resume", "out/run-state", "--learning_rate", "5e-4"});
  const Ended changed = program.run(rate);
  CHECK(changed.status == 0);
  CHECK(holds(changed, "learning_rate was 0.001 when the state was saved and is 0.0005 now"));
  auto rank = constant("8");
  rank.insert(rank.end(), {"--resume", "auto", "--network_dim", "4"});
  const Ended refused = program.run(rank);
  CHECK(refused.status == 2);
  CHECK(holds(refused, "the saved weights do not fit this run"));
  CHECK(holds(refused, "network_weights"));
}

TEST_CASE("a_torn_state_is_passed_over_with_auto_and_named_when_asked_for") {
  const Program program;
  REQUIRE(program.run(training({})).status == 0);
  fs::resize_file(program.folder() / "out/run-state/optimizer.safetensors", 100);
  fs::remove_all(program.folder() / "out/run-step00000006-state");
  const Ended named = program.run(training({"--resume", "out/run-state"}));
  INFO(named.text);
  CHECK(named.status == 1);
  CHECK(holds(named, "optimizer.safetensors has 100 bytes"));
  CHECK(holds(named, "the newest complete state beside it is out/run-step00000004-state"));
  const Ended automatic = program.run(training({"--resume", "auto"}));
  INFO(automatic.text);
  CHECK(automatic.status == 0);
  CHECK(holds(automatic, "is passed over"));
  CHECK(holds(automatic, "run-step00000004-state: step 4"));
}

TEST_CASE("states_of_runs_with_like_names_stay_apart") {
  const Program program;
  const auto named = [](const std::string& name, const std::vector<std::string>& more) {
    auto words = training(more);
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "--output_name") words[i + 1] = name;
      if (words[i] == "--max_train_steps") words[i + 1] = "1";
    }
    return words;
  };
  REQUIRE(program.run(named("dog-2", {})).status == 0);
  REQUIRE(program.run(named("dogs", {})).status == 0);
  const Ended other = program.run(named("dog", {"--resume", "auto"}));
  INFO(other.text);
  CHECK(other.status == 0);
  CHECK(holds(other, "no complete state of \"dog\""));
}

TEST_CASE("a_run_is_resumed_from_its_own_states_alone") {
  const Program program;
  const auto with_steps = [](const std::string& steps, const std::vector<std::string>& more) {
    auto words = training(more);
    for (size_t i = 0; i < words.size(); ++i)
      if (words[i] == "--max_train_steps") words[i + 1] = steps;
    return words;
  };
  REQUIRE(program.run(with_steps("5", {})).status == 0);
  const fs::path record = fs::directory_iterator(program.folder() / "work/runs")->path();
  const std::string first = cinnabar::base::run_id(record.filename().string());
  const Ended second = program.run(with_steps("3", {}));
  INFO(second.text);
  REQUIRE(second.status == 0);
  CHECK(holds(second, "is of an earlier one of this name"));
  // The second run has replaced run-state and the state of step 2; that of step 4 is still the first one's.
  const auto resumed = [&](const std::string& steps) {
    return program.run({"runs", "resume", first, "--workspace", "work", "--max_train_steps", steps});
  };
  const Ended own = resumed("5");
  INFO(own.text);
  CHECK(own.status == 0);
  CHECK(holds(own, "Going on from out/run-step00000004-state: step 4"));
  const auto automatic = program.run(with_steps("6", {"--resume", "auto"}));
  INFO(automatic.text);
  CHECK(holds(automatic, "Going on from out/run-state: step 5"));
  // With its states gone, what is there is named and not taken.
  for (const auto& entry : fs::directory_iterator(program.folder() / "out"))
    if (entry.path().filename().string().ends_with("-state")) fs::remove_all(entry.path());
  REQUIRE(program.run(with_steps("2", {})).status == 0);
  const Ended refused = resumed("9");
  INFO(refused.text);
  CHECK(refused.status == 2);
  CHECK(holds(refused, "out/run-state (step 2, of run "));
  auto optimizer = with_steps("3", {"--resume", "auto", "--optimizer_type", "Lion"});
  CHECK(program.run(optimizer).status == 2);
}

TEST_CASE("a_finished_run_that_is_resumed_leaves_the_file_of_a_later_training_alone") {
  const Program program;
  const std::vector<std::string> short_run = {"--max_train_steps", "2"};
  CHECK(program.run(training(short_run)).status == 0);
  const fs::path file = program.folder() / "out/run.safetensors";
  const auto of_first = tensors_of(file);
  // Another training of that name without states, so that the state beside it stays that of the first.
  std::vector<std::string> other = training(short_run);
  other.insert(other.end(), {"--seed", "6", "--save_state=false"});
  CHECK(program.run(other).status == 0);
  const auto of_second = tensors_of(file);
  REQUIRE(of_second != of_first);
  std::vector<std::string> again = training(short_run);
  again.insert(again.end(), {"--resume", (program.folder() / "out/run-state").string()});
  const Ended ended = program.run(again);
  CHECK(ended.status == 0);
  CHECK(holds(ended, "which was written after their state, is left as it is"));
  CHECK(tensors_of(file) == of_second);
  // Without the file it is made.
  fs::remove(file);
  CHECK(program.run(again).status == 0);
  CHECK(tensors_of(file) == of_first);
}

TEST_CASE("a_resumed_run_with_another_accumulation_still_reaches_its_steps") {
  const Program program;
  REQUIRE(program.run(training({})).status == 0);
  // 22 batches an epoch: the state is in epoch 1; without accumulation 40 steps are two epochs.
  const Ended resumed =
      program.run(training({"--resume", "auto", "--gradient_accumulation_steps", "1", "--max_train_steps", "40"}));
  INFO(resumed.text);
  CHECK(resumed.status == 0);
  CHECK(holds(resumed, "steps: 40"));
}
