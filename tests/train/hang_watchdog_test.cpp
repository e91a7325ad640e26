// Also what step_timeout sets: HangOptions::least_s.
#include "cinnabar/train/hang_watchdog.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace cinnabar;

namespace {

constexpr train::HangOptions kQuickHang{.least_s = 0.03, .factor = 10.0, .without_median_s = 5.0, .tick_s = 0.002};

void sleep_ms(int64_t count) { std::this_thread::sleep_for(std::chrono::milliseconds(count)); }

}  // namespace

TEST_CASE("a step that does not end is told once, with its place") {
  std::atomic<int> times{0};
  train::Hang hang;
  train::HangWatchdog watchdog(kQuickHang, [&](const train::Hang& found) {
    hang = found;
    ++times;
  });
  for (int64_t step = 1; step <= 6; ++step) train::StepWatch(&watchdog, step).phase("forward");
  CHECK(times == 0);
  {
    const train::StepWatch watch(&watchdog, 7);
    watch.phase("backward");
    for (int i = 0; i < 2000 && times == 0; ++i) sleep_ms(1);
  }
  REQUIRE(times == 1);
  CHECK(hang.step == 7);
  CHECK(hang.phase == "backward");
  CHECK(hang.waited_s >= 0.03);
  CHECK(!hang.stack.empty());
  const std::string text = to_text(hang);
  CHECK(text.find("step 7 has not ended after") != std::string::npos);
  CHECK(text.find("It is in: backward") != std::string::npos);
}

TEST_CASE("the limit follows the usual step, and the first steps have long") {
  train::HangWatchdog watchdog(kQuickHang, [](const train::Hang&) { FAIL("no hang"); });
  CHECK(watchdog.limit_s() == 5.0);
  for (int64_t step = 1; step <= 5; ++step) {
    const train::StepWatch watch(&watchdog, step);
    sleep_ms(4);
  }
  CHECK(watchdog.limit_s() > 0.035);
  CHECK(watchdog.limit_s() < 5.0);
  // Between steps nothing is watched.
  sleep_ms(60);
}
