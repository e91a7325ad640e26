// What a run does when numbers or memory run out: oom, stop_after_bad_steps, and what it leaves behind.
#include <doctest/doctest.h>

#include <cstdlib>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/formats/checkpoint.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

namespace fs = std::filesystem;

Ended train(const Program& program, const std::string& fault, const std::vector<std::string>& more) {
  std::vector<std::string> words{"--max_train_steps", "5", "--save_every_n_steps", "1", "--save_state",
                                 "--cache_latents"};
  words.insert(words.end(), more.begin(), more.end());
  ::setenv("CINNABAR_FAULT", fault.c_str(), 1);
  Ended ended = program.run(Program::short_training("run", words));
  ::unsetenv("CINNABAR_FAULT");
  return ended;
}

bool holds(const Ended& ended, const std::string& part) { return ended.text.find(part) != std::string::npos; }

// Every file and state of the run is whole.
void check_files(const fs::path& out) {
  for (const auto& entry : fs::directory_iterator(out)) {
    CAPTURE(entry.path());
    if (entry.is_directory()) CHECK_NOTHROW(cinnabar::base::verify_folder(entry.path()));
    if (entry.path().extension() == ".safetensors") CHECK_NOTHROW(cinnabar::formats::Checkpoint::open(entry.path()));
  }
}

}  // namespace

TEST_CASE("bad_steps_are_left_out_and_end_the_run_after_the_given_number") {
  const Program program;
  const Ended ended = train(program, "nan@step.loss:3+", {"--stop_after_bad_steps", "2"});
  INFO(ended.text);
  CHECK(ended.status == 1);
  CHECK(holds(ended, "The loss of a batch is not finite and it is left out: "));
  CHECK(holds(ended, "not finite in 2 steps in succession"));
  CHECK(holds(ended, "the latest state out/run-step00000003-state"));
  CHECK(!fs::exists(program.folder() / "out/run-step00000004.safetensors"));
  check_files(program.folder() / "out");
}

TEST_CASE("weights_that_are_not_finite_replace_no_good_file") {
  const Program program;
  const Ended ended = train(program, "nan@step.weight:3", {});
  INFO(ended.text);
  CHECK(ended.status == 1);
  CHECK(holds(ended, "run-step00000003.safetensors is not written"));
  CHECK(holds(ended, "lora_"));
  CHECK(fs::exists(program.folder() / "out/run-step00000002-state"));
  CHECK(!fs::exists(program.folder() / "out/run-step00000003.safetensors"));
  check_files(program.folder() / "out");
}

TEST_CASE("memory_that_runs_out_is_met_with_smaller_parts_or_with_oom_stop_by_saving") {
  const Program split;
  const Ended smaller = train(split, "memory@step.forward:3+", {});
  INFO(smaller.text);
  CHECK(smaller.status == 1);  // the fault stays, however small the parts
  CHECK(holds(smaller, "it is tried once more"));
  CHECK(holds(smaller, "computed in parts of 1"));
  CHECK(holds(smaller, "memory ran out in step 3"));
  const Program stop;
  const Ended ended = train(stop, "memory@step.forward:3", {"--oom", "stop"});
  INFO(ended.text);
  CHECK(ended.status == 1);
  CHECK(!holds(ended, "tried once more"));
  CHECK(holds(ended, "memory ran out in step 3"));
  CHECK(holds(ended, "--resume out/run-step00000002-state"));
  check_files(stop.folder() / "out");
  const Ended resumed = train(stop, "", {"--resume", "auto"});
  INFO(resumed.text);
  CHECK(resumed.status == 0);
}
