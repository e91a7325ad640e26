// What ends a run on the way, or before it has begun: nothing that was trained is lost, and nothing is waited for in
// vain.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/train/output_lock.h"
#include "faults/soak/engine_run.h"
#include "faults/soak/material.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool is_progress(const nlohmann::json& event, const char* phase, int64_t step) {
  return event.value("type", "") == "progress" && event.value("phase", "") == phase &&
         event.value("step", int64_t{0}) == step;
}

std::string message_of(const EngineRun& run) { return run.error ? run.error->message() : ""; }

bool has_cached(const EngineRun& run) {
  return std::ranges::any_of(run.phases, [](const std::string& text) { return text.starts_with("Caching"); });
}

const Words kPlain{"--optimizer_type", "AdamW", "--learning_rate", "1e-3", "--network_dropout", "0.2"};

// Runs to the end in another folder, and compares.
void check_equals_unbroken(const EngineFolder& broken, int64_t steps, const Words& options) {
  const EngineFolder whole;
  const EngineRun unbroken = run_engine(whole.words(steps, options));
  REQUIRE(message_of(unbroken) == "");
  CHECK(difference_of_states(whole.path(), broken.path()) == "");
}

}  // namespace

TEST_CASE("pictures_that_vanish_end_the_run_with_what_was_trained_saved") {
  const EngineFolder folder;
  const fs::path data = folder.path() / "data";
  const fs::path away = folder.path() / "away";
  const EngineRun run =
      run_engine_beside(folder.words(6, kPlain), [&](const nlohmann::json& event, std::atomic<bool>&) {
        if (is_progress(event, "train", 3)) fs::rename(data, away);
      });
  REQUIRE(run.error);
  INFO(run.error->message());
  CHECK(run.error->code() == base::ErrorCode::Data);
  CHECK(message_of(run).find("no picture of the data sets can be read any more") != std::string::npos);
  CHECK(message_of(run).find("What was trained until step 3 is kept: saved") != std::string::npos);
  CHECK_NOTHROW(base::verify_folder(folder.path() / "out/run-step00000003-state"));
  CHECK(fs::exists(folder.path() / "out/run-step00000003.safetensors"));
  fs::rename(away, data);
  CHECK(message_of(run_engine(folder.words(6, plus(kPlain, {"--resume", "auto"})))) == "");
  check_equals_unbroken(folder, 6, kPlain);
}

TEST_CASE("an_output_folder_that_vanishes_is_waited_for_and_then_made_anew") {
  for (const bool comes_back : {true, false}) {
    const Words options =
        plus(kPlain, {"--save_every_n_steps", "2", "--save_state", "--disk_wait_minutes", comes_back ? "10" : "0.02"});
    const EngineFolder folder;
    const fs::path out = folder.path() / "out";
    const fs::path away = folder.path() / "away";
    std::atomic<bool> is_waiting{false};
    const EngineRun run =
        run_engine_beside(folder.words(6, options), [&](const nlohmann::json& event, std::atomic<bool>& stop) {
          const bool is_saved = event.value("type", "") == "saved" && event.value("kind", "") == "state";
          if (is_saved && !fs::exists(away) && !is_waiting) fs::rename(out, away);
          if (event.value("type", "") != "warning") return;
          if (event.at("text").get<std::string>().find("is gone: moved, removed") == std::string::npos) return;
          is_waiting = true;
          if (comes_back) fs::rename(away, out);
          if (comes_back) stop = true;  // or the next attempt is a minute away
        });
    INFO(message_of(run));
    CHECK(is_waiting);
    if (comes_back) {
      REQUIRE(run.error);
      CHECK(run.error->code() == base::ErrorCode::Cancelled);
      CHECK(message_of(run_engine(folder.words(6, plus(options, {"--resume", "auto"})))) == "");
      check_equals_unbroken(folder, 6, options);
    } else {
      CHECK(message_of(run) == "");
      CHECK(fs::exists(away / "run-step00000002.safetensors"));
      CHECK_NOTHROW(base::verify_folder(out / "run-state"));
      check_equals_unbroken(folder, 6, options);
    }
  }
}

TEST_CASE("a_run_that_fails_before_its_first_step_saves_nothing_and_says_so") {
  const EngineFolder folder;
  const EngineRun run =
      run_engine_beside(folder.words(6, kPlain), [&](const nlohmann::json& event, std::atomic<bool>&) {
        if (event.value("type", "") == "phase" && event.value("text", "") == "Training")
          fs::rename(folder.path() / "data", folder.path() / "away");
      });
  INFO(message_of(run));
  CHECK(message_of(run).find("No file of this run was saved yet") != std::string::npos);
  CHECK(fs::is_empty(folder.path() / "out"));
}

TEST_CASE("a_signal_during_a_measurement_ends_it_and_the_resumed_run_measures_anew") {
  const Words options = plus(kPlain, {"--validation_split", "0.5", "--validate_every_n_steps", "2"});
  const EngineFolder folder;
  bool is_over = false;
  const EngineRun run =
      run_engine_beside(folder.words(5, options), [&](const nlohmann::json& event, std::atomic<bool>& stop) {
        if (stop && event.value("phase", "") == "validate") is_over = true;
        if (is_progress(event, "validate", 1)) stop = true;
      });
  INFO(message_of(run));
  REQUIRE(run.error);
  CHECK(run.error->code() == base::ErrorCode::Cancelled);
  CHECK(!is_over);  // no batch of the measurement after the signal
  CHECK(run.losses.size() < 5);
  CHECK(message_of(run_engine(folder.words(5, plus(options, {"--resume", "auto"})))) == "");
  check_equals_unbroken(folder, 5, options);
}

TEST_CASE("a_signal_in_a_step_that_is_measured_leaves_the_measurement_to_the_resumed_run") {
  const Words options = plus(kPlain, {"--validation_split", "0.5", "--validate_every_n_steps", "2"});
  const EngineFolder folder;
  const EngineRun run = run_engine(folder.words(5, options), 2);
  REQUIRE(run.error);
  CHECK(message_of(run_engine(folder.words(5, plus(options, {"--resume", "auto"})))) == "");
  check_equals_unbroken(folder, 5, options);
}

TEST_CASE("a_signal_between_preview_pictures_is_not_followed_by_another_one_or_a_step") {
  const EngineFolder folder;
  std::ofstream(folder.path() / "prompts.txt") << "a cat --s 2 --w 64 --h 64\na dog --s 2 --w 64 --h 64\n";
  const Words options =
      plus(kPlain, {"--sample_prompts", (folder.path() / "prompts.txt").string(), "--sample_every_n_steps", "2"});
  const EngineRun run =
      run_engine_beside(folder.words(5, options), [&](const nlohmann::json& event, std::atomic<bool>& stop) {
        if (is_progress(event, "sample", 1)) stop = true;
      });
  INFO(message_of(run));
  REQUIRE(run.error);
  CHECK(run.error->code() == base::ErrorCode::Cancelled);
  CHECK(message_of(run).find("stopped after step 2 of 5") != std::string::npos);
  size_t pictures = 0;
  for (const auto& entry : fs::directory_iterator(folder.path() / "out/sample"))
    pictures += entry.path().extension() == ".png" ? 1 : 0;
  CHECK(pictures == 1);
}

TEST_CASE("a_training_that_was_begun_anew_is_gone_on_from_and_not_the_finished_one_before") {
  const Words options = plus(kPlain, {"--save_state"});
  const EngineFolder folder;
  REQUIRE(message_of(run_engine(folder.words(4, options))) == "");
  REQUIRE(run_engine(folder.words(4, options), 2).error);
  const EngineRun resumed = run_engine(folder.words(4, plus(options, {"--resume", "auto"})));
  CHECK(message_of(resumed) == "");
  CHECK(resumed.losses.size() == 2);
  const auto is_told = [&](const char* part) {
    return std::ranges::any_of(resumed.messages,
                               [&](const std::string& text) { return text.find(part) != std::string::npos; });
  };
  CHECK(is_told("run-step00000002-state: step 2"));
  CHECK(is_told("is of an earlier training of this name and is not gone on from"));
}

TEST_CASE("two_runs_of_one_name_in_a_folder_are_told_before_anything_is_cached") {
  const EngineFolder folder;
  const fs::path out = folder.path() / "out";
  const Words words = folder.words(1, plus(kPlain, {"--cache_latents"}));
  base::SilentEvents silent;
  {
    const train::OutputLock other(out, "run", silent);
    const EngineRun run = run_engine(words);
    INFO(message_of(run));
    REQUIRE(run.error);
    CHECK(run.error->code() == base::ErrorCode::Config);
    CHECK(message_of(run).find("another run (process ") != std::string::npos);
    CHECK(message_of(run).find("writes files of the name \"run\"") != std::string::npos);
    CHECK(!has_cached(run));
    CHECK(message_of(run_engine(folder.words(1, plus(kPlain, {"--output_name", "another"})))) == "");
  }
  // What a killed run left behind locks nothing.
  std::ofstream(out / ".run.lock") << "process 1 on the machine x";
  CHECK(message_of(run_engine(words)) == "");
  CHECK(!fs::exists(out / ".run.lock"));
}

TEST_CASE("folders_and_arguments_that_cannot_work_are_told_before_anything_is_cached") {
  const EngineFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  const std::string below_file = (folder.path() / "file/below").string();
  struct Case {
    Words words;
    std::string message;
  };
  const std::vector<Case> cases{
      {{"--logging_dir", below_file}, "cannot make logging_dir " + below_file},
      {{"--output_dir", below_file}, "expected a folder"},
      {{"--optimizer_args", "no_such=1"}, "no_such"},
      {{"--optimizer_type", "Prodigy", "--optimizer_args", "d_coef=many"}, "d_coef"},
      {{"--lr_scheduler", "cosine", "--lr_scheduler_args", "no_such=1"}, "no_such"},
      {{"--network_args", "conv_dim=many"}, "conv_dim"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.message);
    const EngineRun run = run_engine(folder.words(1, plus(plus(kPlain, {"--cache_latents"}), one.words)));
    REQUIRE(run.error);
    CHECK(message_of(run).find(one.message) != std::string::npos);
    CHECK(!has_cached(run));
  }
}

}  // namespace cinnabar::soak
