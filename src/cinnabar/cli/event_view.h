// Events of a run for a person: one progress line that renews itself on a terminal, plain lines now and then elsewhere.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

namespace cinnabar::cli {

struct EventViewOptions {
  bool is_terminal = false;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

class EventView {
 public:
  EventView(std::ostream& out, std::ostream& err, EventViewOptions options);

  void show(const nlohmann::ordered_json& event);
  // A line for the person that is no event: messages of the engine, notices.
  void print(const std::string& line);
  // Ends the progress line, so that other output starts on a line of its own.
  void finish();

 private:
  void progress(const nlohmann::ordered_json& event);
  void line(std::ostream& stream, const std::string& text);

  std::ostream& out_;
  std::ostream& err_;
  EventViewOptions options_;
  std::chrono::steady_clock::time_point last_{};
  std::string last_phase_;
  std::string device_;      // what the sensors of the device last said
  size_t shown_width_ = 0;  // of the progress line that stands on the terminal
};

// "train 120/1600 7 % · epoch 1/10 · loss 0.1234 · rate 0.0001 · 3.21 steps/s · 7 m 41 s left"
std::string progress_text(const nlohmann::ordered_json& event);
// "GPU 98 % 71 C 210 W, slowed by heat" from a telemetry event; "" when it is not of the first device.
std::string device_text(const nlohmann::ordered_json& event);
// "41 s", "7 m 41 s", "2 h 05 m"
std::string duration_text(double seconds);

}  // namespace cinnabar::cli
