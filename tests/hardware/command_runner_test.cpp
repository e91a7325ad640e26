#include "cinnabar/hardware/command_runner.h"

#include <doctest/doctest.h>

#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/system_sources.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

constexpr std::chrono::seconds kLimit(5);

TEST_CASE("commands_run_at_once_and_say_how_they_ended") {
  const auto results = run_commands({"echo one two", "false", "surely-not-installed-anywhere --json"}, kLimit);
  CHECK(results.at("echo one two").output == "one two\n");
  CHECK(results.at("echo one two").exit == 0);
  CHECK(results.at("false").exit == 1);
  CHECK_FALSE(results.at("surely-not-installed-anywhere --json").is_installed());
}

TEST_CASE("a_command_that_does_not_end_is_ended") {
  const CommandResult result = run_command({"/bin/sleep", "30"}, std::chrono::seconds(0));
  CHECK(result.exit == 124);
}

TEST_CASE("this_machine_is_detected_whatever_it_is") {
  CHECK(broken_invariant(detect(system_sources({.is_present = true, .version = "2.13.0"}, false))) == "");
}

}  // namespace

}  // namespace cinnabar::hardware
