#include "cinnabar/base/events.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cinnabar/base/input_event.h"
#include "cinnabar/base/process.h"

namespace cinnabar::base {

namespace {

nlohmann::json only_event(const RecordedEvents& events) {
  REQUIRE(events.lines().size() == 1);
  CHECK(events.lines()[0].find('\n') == std::string::npos);
  return nlohmann::json::parse(events.lines()[0]);
}

TEST_CASE("progress_has_only_what_was_given") {
  RecordedEvents events;
  events.progress({.step = 3, .total = 10, .loss = 0.5});
  const auto event = only_event(events);
  CHECK(event == nlohmann::json{{"type", "progress"}, {"phase", "train"}, {"step", 3}, {"total", 10}, {"loss", 0.5}});
}

TEST_CASE("a_lost_loss_is_text_in_json") {
  RecordedEvents events;
  events.progress({.step = 1, .loss = std::nan(""), .grad_norm = HUGE_VAL});
  const auto event = only_event(events);
  CHECK(event["loss"] == "nan");
  CHECK(event["grad_norm"] == "inf");
}

TEST_CASE("text_with_line_breaks_and_bad_utf8_stays_one_line") {
  RecordedEvents events;
  events.log("first\nsecond \xFF");
  CHECK(only_event(events)["text"] == "first\nsecond \xEF\xBF\xBD");
}

TEST_CASE("errors_carry_code_text_and_context") {
  RecordedEvents events;
  events.error(Error(ErrorCode::OutOfMemory, "memory ran out", "stack"));
  const auto event = only_event(events);
  CHECK(event["code"] == "OutOfMemory");
  CHECK(event["text"] == "memory ran out");
  CHECK(event["context"] == "stack");
}

TEST_CASE("results_keep_the_types_of_their_fields") {
  RecordedEvents events;
  events.result({{"output", std::string("a.safetensors")}, {"steps", int64_t{5}}, {"loss", 0.25}, {"passed", true}});
  CHECK(
      only_event(events) ==
      nlohmann::json{{"type", "result"}, {"output", "a.safetensors"}, {"steps", 5}, {"loss", 0.25}, {"passed", true}});
}

TEST_CASE("where_a_run_comes_from_is_an_event_of_its_own") {
  RecordedEvents input;
  tell_input(input, {.kind = "model", .path = "m.safetensors", .sha256 = "ab"});
  CHECK(only_event(input) ==
        nlohmann::json{{"type", "input"}, {"kind", "model"}, {"path", "m.safetensors"}, {"sha256", "ab"}});
  RecordedEvents resumed;
  resumed.resumed("out/dog-state", 7, 2);
  CHECK(only_event(resumed) ==
        nlohmann::json{{"type", "resumed"}, {"path", "out/dog-state"}, {"step", 7}, {"epoch", 2}});
}

TEST_CASE("a_reader_that_went_away_is_noticed_and_does_not_end_the_run") {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe = make_pipe();
  DescriptorEvents events(pipe.write.get());
  events.log("read me");
  CHECK_FALSE(events.is_broken());
  pipe.read.close();
  events.log("too late");
  CHECK(events.is_broken());
  events.log("dropped");
}

}  // namespace

}  // namespace cinnabar::base
