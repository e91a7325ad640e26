#include "cinnabar/train/save_queue.h"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

#include "cinnabar/base/error.h"

using namespace cinnabar;
using train::SaveQueue;

namespace {

// most_wait_s is disk_wait_minutes in seconds.
const train::SaveQueueOptions kQuickSaves{.retry_s = 0.01, .most_wait_s = 10.0};

base::Error full() { return {base::ErrorCode::OutOfSpace, "cannot write out/a: No space left on device"}; }

}  // namespace

TEST_CASE("saves are written in order, one at a time") {
  base::RecordedEvents events;
  const std::atomic<bool> stop{false};
  std::vector<int> written;
  std::atomic<int> running{0};
  {
    SaveQueue queue(events, stop, kQuickSaves);
    for (int i = 0; i < 5; ++i) {
      queue.submit("save", [&, i] {
        CHECK(++running == 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        written.push_back(i);
        --running;
      });
    }
    queue.finish();
    CHECK(written == std::vector<int>{0, 1, 2, 3, 4});
    queue.submit("save", [&] { written.push_back(5); });
  }
  CHECK(written.back() == 5);  // the end waits for the last one
}

TEST_CASE("a full disk is waited for, and the save made once there is room") {
  base::RecordedEvents events;
  const std::atomic<bool> stop{false};
  int attempts = 0;
  SaveQueue queue(events, stop, kQuickSaves);
  queue.submit("The save of step 4", [&] {
    if (++attempts < 4) throw full();
  });
  queue.finish();
  CHECK(attempts == 4);
  REQUIRE(events.lines().size() == 4);
  CHECK(events.lines().front().find("The save of step 4 cannot be written") != std::string::npos);
  CHECK(events.lines().front().find("No space left") != std::string::npos);
  CHECK(events.lines().back().find("is written; the training goes on") != std::string::npos);
}

TEST_CASE("the training pauses while a save waits, and hears of it when the time is over") {
  base::RecordedEvents events;
  const std::atomic<bool> stop{false};
  SaveQueue queue(events, stop, {.retry_s = 0.01, .most_wait_s = 0.05});
  std::atomic<bool> has_tried{false};
  queue.submit("save", [&] {
    has_tried = true;
    throw full();
  });
  while (!has_tried) std::this_thread::yield();
  const auto pause = [&] {
    // Until the queue has noted that it waits, this returns at once.
    for (int i = 0; i < 1000; ++i) {
      queue.pause_while_waiting();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  CHECK_THROWS_WITH_AS(pause(), doctest::Contains("No space left"), base::Error);
  CHECK_NOTHROW(queue.finish());  // told once
}

TEST_CASE("a signal ends the wait for the disk") {
  base::RecordedEvents events;
  std::atomic<bool> stop{false};
  SaveQueue queue(events, stop, {.retry_s = 100.0, .most_wait_s = 1000.0});
  std::atomic<int> attempts{0};
  queue.submit("save", [&] {
    ++attempts;
    throw full();
  });
  while (attempts == 0) std::this_thread::yield();
  stop = true;
  CHECK_THROWS_AS(queue.finish(), base::Error);
  CHECK(attempts <= 2);
}

TEST_CASE("faults that are not the disk's are not tried again") {
  base::RecordedEvents events;
  const std::atomic<bool> stop{false};
  int attempts = 0;
  SaveQueue queue(events, stop, kQuickSaves);
  queue.submit("save", [&] {
    ++attempts;
    throw base::Error(base::ErrorCode::Internal, "a bug");
  });
  CHECK_THROWS_WITH_AS(queue.finish(), "a bug", base::Error);
  CHECK(attempts == 1);
  queue.submit("save", [&] { ++attempts; });
  queue.finish();
  CHECK(attempts == 2);
}

TEST_CASE("the last resort comes after the wait, once, and the save is tried again when it helped") {
  base::RecordedEvents events;
  const std::atomic<bool> stop{false};
  for (const bool is_help : {true, false}) {
    int attempts = 0;
    int attempts_before = 0;
    int resorts = 0;
    SaveQueue queue(events, stop, {.retry_s = 0.01, .most_wait_s = 0.03, .last_resort = [&] {
                                     ++resorts;
                                     attempts_before = attempts;
                                     return is_help;
                                   }});
    queue.submit("save", [&] {
      ++attempts;
      if (resorts == 0 || !is_help) throw full();
    });
    if (is_help) {
      queue.finish();
    } else {
      CHECK_THROWS_AS(queue.finish(), base::Error);
    }
    CHECK(resorts == 1);
    CHECK(attempts_before >= 2);
    CHECK(attempts == attempts_before + (is_help ? 1 : 0));
  }
}
