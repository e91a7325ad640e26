#include "cinnabar/train/hang_watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "cinnabar/base/thread_stack.h"

namespace cinnabar::train {

namespace {

constexpr size_t kKept = 101;
constexpr size_t kLeast = 5;  // steps until their median counts

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10.0 ? "%.2g s" : "%.0f s", seconds);
  return text;
}

}  // namespace

std::string to_text(const Hang& hang) {
  return "step " + std::to_string(hang.step) + " has not ended after " + seconds_text(hang.waited_s) +
         (hang.median_s > 0.0 ? "; steps before took " + seconds_text(hang.median_s) : "") +
         ". It is in: " + hang.phase + " (" + hang.state + ")";
}

HangWatchdog::HangWatchdog(const HangOptions& options, std::function<void(const Hang&)> on_hang)
    : options_(options), on_hang_(std::move(on_hang)) {
  base::prepare_thread_stacks();
  thread_ = std::thread([this] { work(); });
}

HangWatchdog::~HangWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HangWatchdog::begin(int64_t step) {
  const std::lock_guard lock(mutex_);
  thread_id_ = ::pthread_self();
  system_id_ = ::gettid();
  step_ = step;
  phase_ = "its beginning";
  waited_s_ = 0.0;
  is_watching_ = true;
  started_ = Clock::now();
}

void HangWatchdog::end() {
  const std::lock_guard lock(mutex_);
  is_watching_ = false;
  durations_s_.push_back(std::chrono::duration<double>(Clock::now() - started_).count());
  if (durations_s_.size() > kKept) durations_s_.pop_front();
}

void HangWatchdog::phase(const char* text) {
  const std::lock_guard lock(mutex_);
  phase_ = text;
}

double HangWatchdog::median_s() const {
  if (durations_s_.size() < kLeast) return 0.0;
  std::vector<double> sorted(durations_s_.begin(), durations_s_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double HangWatchdog::limit_s() const {
  const std::lock_guard lock(mutex_);
  const double median = median_s();
  return std::max(options_.least_s, median > 0.0 ? options_.factor * median : options_.without_median_s);
}

void HangWatchdog::work() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    const Clock::time_point before = Clock::now();
    changed_.wait_for(lock, std::chrono::duration<double>(options_.tick_s));
    if (!is_watching_ || is_ending_) continue;
    // A process that was stopped, or a machine that slept, sees one long tick.
    const double passed_s = std::chrono::duration<double>(Clock::now() - before).count();
    waited_s_ += std::min(passed_s, 2.0 * options_.tick_s);
    const double median = median_s();
    const double limit =
        std::max(options_.least_s, median > 0.0 ? options_.factor * median : options_.without_median_s);
    if (waited_s_ < limit) continue;
    Hang hang{.step = step_, .phase = phase_, .waited_s = waited_s_, .median_s = median};
    const pthread_t thread = thread_id_;
    const int system_id = system_id_;
    lock.unlock();
    hang.state = base::thread_state(system_id);
    hang.stack = base::stack_of(thread);
    on_hang_(hang);
    return;
  }
}

}  // namespace cinnabar::train
