#include "cinnabar/cli/event_view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace cinnabar::cli {

namespace {

using nlohmann::ordered_json;

struct View {
  explicit View(bool is_terminal) : view(out, err, {.is_terminal = is_terminal, .now = [this] { return now; }}) {}
  void progress(int64_t step, int64_t total, std::chrono::milliseconds later) {
    now += later;
    view.show({{"type", "progress"}, {"phase", "train"}, {"step", step}, {"total", total}});
  }
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  std::ostringstream out;
  std::ostringstream err;
  EventView view;
};

TEST_CASE("the_progress_line_has_step_share_loss_rate_and_time_left") {
  const ordered_json event = {{"phase", "train"}, {"step", 120},     {"total", 1600},         {"epoch", 1},
                              {"epochs", 10},     {"loss", 0.12344}, {"learning_rate", 1e-4}, {"steps_per_s", 3.21},
                              {"left_s", 461.2}};
  CHECK(progress_text(event) ==
        "train 120/1600   7 % | epoch 1/10 | loss 0.1234 | lr 0.0001 | 3.21 it/s | 7 m 41 s left");
}

TEST_CASE("a_lost_loss_is_shown") {
  CHECK(progress_text({{"phase", "train"}, {"step", 1}, {"loss", "nan"}}) == "train 1 | loss nan");
}

TEST_CASE("the_progress_line_ends_in_what_the_sensors_of_the_device_say") {
  View pipe(false);
  pipe.view.show({{"type", "telemetry"},
                  {"cpu_percent", 50.0},
                  {"device", "A card"},
                  {"index", 0},
                  {"device_utilisation_percent", 98.4},
                  {"device_temperature_c", 71.0},
                  {"device_power_w", 210.5},
                  {"device_throttled_by", "heat,power"}});
  pipe.view.show({{"type", "telemetry"}, {"device", "Another"}, {"index", 1}, {"device_temperature_c", 20.0}});
  pipe.view.show({{"type", "telemetry"}, {"cpu_percent", 60.0}});
  pipe.progress(1, 2, std::chrono::seconds(0));
  CHECK(pipe.out.str() == "train 1/2  50 % | GPU 98 % 71 C 210 W, slowed by heat\n");
}

TEST_CASE("without_a_device_with_sensors_the_progress_line_stays_short") {
  View pipe(false);
  pipe.view.show({{"type", "telemetry"}, {"cpu_percent", 60.0}});
  pipe.progress(1, 2, std::chrono::seconds(0));
  CHECK(pipe.out.str() == "train 1/2  50 %\n");
}

TEST_CASE("durations_are_short") {
  CHECK(duration_text(0.4) == "0 s");
  CHECK(duration_text(59.6) == "1 m 00 s");
  CHECK(duration_text(7500) == "2 h 05 m");
}

TEST_CASE("a_pipe_gets_a_plain_line_now_and_then") {
  View pipe(false);
  for (int step = 1; step <= 100; ++step) pipe.progress(step, 100, std::chrono::milliseconds(100));
  std::istringstream lines(pipe.out.str());
  int count = 0;
  std::string last;
  for (std::string line; std::getline(lines, line); ++count) last = line;
  CHECK(count == 3);  // the first, one after five seconds, the last
  CHECK(last == "train 100/100 100 %");
  CHECK(pipe.out.str().find('\r') == std::string::npos);
}

TEST_CASE("a_terminal_gets_one_line_that_gives_way_to_others") {
  View terminal(true);
  terminal.progress(1, 2, std::chrono::milliseconds(0));
  terminal.view.show({{"type", "saved"}, {"path", "a.safetensors"}});
  terminal.progress(2, 2, std::chrono::milliseconds(200));
  terminal.view.finish();
  CHECK(terminal.out.str() == "\rtrain 1/2  50 %\r               \rsaved a.safetensors\n\rtrain 2/2 100 %\n");
}

TEST_CASE("control_characters_of_names_do_not_reach_the_terminal") {
  View pipe(false);
  pipe.view.show({{"type", "saved"}, {"path", "a\x1b[2Jb"}});
  pipe.view.show({{"type", "warning"}, {"text", "bad\rname"}});
  CHECK(pipe.out.str() == "saved a?[2Jb\n");
  CHECK(pipe.err.str() == "warning: bad?name\n");
}

TEST_CASE("results_are_lines_of_name_and_value") {
  View pipe(false);
  pipe.view.show({{"type", "result"},
                  {"output", "a.safetensors"},
                  {"steps", 5},
                  {"loss", 1.0 / 3.0},
                  {"saves", 2},
                  {"save_pause_s", 0.1},
                  {"time", 1e9}});
  CHECK(pipe.out.str() == "output: a.safetensors\nsteps: 5\naverage loss of the last epoch: 0.333333\n");
}

}  // namespace

}  // namespace cinnabar::cli
