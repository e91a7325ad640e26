// Notices a step that does not end: a device, a driver or a file system that no longer answers.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::train {

struct HangOptions {
  double least_s = 120.0;            // step_timeout
  double factor = 10.0;              // of the median step
  double without_median_s = 3600.0;  // for the first steps, which may compile kernels
  double tick_s = 1.0;
};

struct Hang {
  int64_t step = 0;
  std::string phase;
  double waited_s = 0.0;
  double median_s = 0.0;  // 0: too few steps yet
  std::string state;      // of the thread (base/thread_stack.h)
  std::vector<std::string> stack;
};

// "step 12 has not ended after 130 s; steps before took 1.3 s. It is in forward and backward (sleeping)".
std::string to_text(const Hang& hang);

class HangWatchdog {
 public:
  // `on_hang` is called once, on a thread of the watchdog's own.
  HangWatchdog(const HangOptions& options, std::function<void(const Hang&)> on_hang);
  ~HangWatchdog();
  HangWatchdog(const HangWatchdog&) = delete;
  HangWatchdog& operator=(const HangWatchdog&) = delete;

  // Between the two, the calling thread is watched. What is outside (pictures, validation, waiting for a disk) may take
  // any time.
  void begin(int64_t step);
  void end();
  // What the step does, for the message.
  void phase(const char* text);
  // How long a step may take now.
  double limit_s() const;

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  double median_s() const;

  HangOptions options_;
  std::function<void(const Hang&)> on_hang_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<double> durations_s_;  // of the last steps
  pthread_t thread_id_{};
  int system_id_ = 0;
  int64_t step_ = 0;
  const char* phase_ = "";
  Clock::time_point started_{};
  double waited_s_ = 0.0;  // counted in ticks, so that a stopped or sleeping machine is no hang
  bool is_watching_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

// Watches one step.
class StepWatch {
 public:
  // `watchdog` null: nothing is watched.
  StepWatch(HangWatchdog* watchdog, int64_t step) : watchdog_(watchdog) {
    if (watchdog_ != nullptr) watchdog_->begin(step);
  }
  ~StepWatch() {
    if (watchdog_ != nullptr) watchdog_->end();
  }
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;
  void phase(const char* text) const {
    if (watchdog_ != nullptr) watchdog_->phase(text);
  }

 private:
  HangWatchdog* watchdog_;
};

}  // namespace cinnabar::train
