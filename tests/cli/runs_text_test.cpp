#include "cinnabar/cli/runs_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace cinnabar::cli {

namespace {

TEST_CASE("columns_line_up_by_letters_not_bytes") {
  CHECK(table_text({{"A", "B"}, {"dög", "1"}, {"x", "22"}}) == "A    B\ndög  1\nx    22\n");
  CHECK(table_text({}) == "");
}

TEST_CASE("sizes_are_short") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(4'200'000) == "4.2 MB");
  CHECK(bytes_text(int64_t{7} << 50) == "7881.3 TB");
}

TEST_CASE("times_that_cannot_be_are_a_dash") {
  CHECK(time_text(std::nullopt) == "-");
  CHECK(time_text(std::nan("")) == "-");
  CHECK(time_text(1e300) == "-");
  CHECK(time_text(1e9).starts_with("2001-09-"));
}

TEST_CASE("losses_that_are_lost_are_shown") {
  CHECK(loss_text(std::nan("")) == "nan");
  CHECK(loss_text(-HUGE_VAL) == "-inf");
  CHECK(loss_text(0.123456) == "0.1235");
  CHECK(loss_text(std::nullopt) == "-");
}

TEST_CASE("a_run_as_json_has_only_what_is_known") {
  jobs::RunRow run{.id = "ab", .name = "dog", .command = "train", .state = "running"};
  CHECK(run_json(run, "f") ==
        nlohmann::ordered_json{
            {"id", "ab"}, {"name", "dog"}, {"command", "train"}, {"state", "running"}, {"folder", "f"}});
  run.loss = std::nan("");
  run.is_certain = false;
  CHECK(run_json(run, "f")["loss"] == "nan");
  CHECK(run_json(run, "f")["is_certain"] == false);
}

TEST_CASE("how_long_a_run_took") {
  jobs::RunRow run{.state = "done", .started = 1000.0, .ended = 1061.0};
  CHECK(length_text(run) == "1 m 01 s");
  run.ended.reset();
  CHECK(length_text(run) == "-");
  CHECK(step_text(run) == "-");
  run.step = 3;
  CHECK(step_text(run) == "3");
  run.total = 9;
  CHECK(step_text(run) == "3/9");
}

}  // namespace

}  // namespace cinnabar::cli
