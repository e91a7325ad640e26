#include "cinnabar/cli/event_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cinnabar/base/utf8.h"

namespace cinnabar::cli {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPipeInterval = std::chrono::seconds(5);

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char buffer[128];
  std::snprintf(buffer, sizeof(buffer), pattern, args...);
  return buffer;
}

// Losses that are lost come as text ("nan").
std::string number_field(const ordered_json& event, const char* key, const char* pattern) {
  const auto found = event.find(key);
  if (found == event.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? format(pattern, found->get<double>()) : std::string();
}

std::string text_of(const ordered_json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Of a result: what only measurements look at.
bool is_for_programs(const std::string& key) {
  return key == "saves" || key == "save_pause_s" || key.starts_with("memory_") || key.starts_with("peak_memory_");
}

std::string label_of(const std::string& key) {
  if (key == "loss") return "average loss of the last epoch";
  return key;
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) return format("%lld s", static_cast<long long>(whole));
  if (whole < 3600)
    return format("%lld m %02lld s", static_cast<long long>(whole / 60), static_cast<long long>(whole % 60));
  return format("%lld h %02lld m", static_cast<long long>(whole / 3600), static_cast<long long>(whole % 3600 / 60));
}

std::string progress_text(const ordered_json& event) {
  const int64_t step = event.value("step", int64_t{0});
  const int64_t total = event.value("total", int64_t{0});
  std::string text = text_of(event, "phase") + " " + std::to_string(step);
  if (total > 0) text += "/" + std::to_string(total) + format(" %3lld %%", static_cast<long long>(step * 100 / total));
  const auto append = [&](const std::string& label, const std::string& value) {
    if (!value.empty()) text += " | " + label + value;
  };
  if (event.contains("epoch") && event.contains("epochs")) {
    append("epoch ",
           std::to_string(event.value("epoch", int64_t{0})) + "/" + std::to_string(event.value("epochs", int64_t{0})));
  }
  append("loss ", number_field(event, "loss", "%.4f"));
  append("average ", number_field(event, "average_loss", "%.4f"));
  append("lr ", number_field(event, "learning_rate", "%.3g"));
  const std::string rate = number_field(event, "steps_per_s", "%.2f");
  if (!rate.empty()) append("", rate + " it/s");
  if (event.contains("left_s") && event["left_s"].is_number())
    append("", duration_text(event["left_s"].get<double>()) + " left");
  return text;
}

std::string device_text(const ordered_json& event) {
  if (!event.contains("device") || event.value("index", int64_t{0}) != 0) return {};
  std::string text;
  const auto append = [&](const char* key, const char* pattern, const char* unit) {
    const std::string value = number_field(event, key, pattern);
    if (!value.empty()) text += " " + value + unit;
  };
  append("device_utilisation_percent", "%.0f", " %");
  append("device_temperature_c", "%.0f", " C");
  append("device_power_w", "%.0f", " W");
  const std::string cause = text_of(event, "device_throttled_by");
  // A card at its power limit does what it should; one that is too hot does not.
  if (cause.find("heat") != std::string::npos) text += ", slowed by heat";
  return text.empty() ? text : "GPU" + text;
}

EventView::EventView(std::ostream& out, std::ostream& err, EventViewOptions options)
    : out_(out), err_(err), options_(std::move(options)) {}

void EventView::show(const ordered_json& event) {
  const std::string type = text_of(event, "type");
  if (type == "progress") return progress(event);
  if (type == "telemetry") {
    if (const std::string text = device_text(event); !text.empty()) device_ = text;
    return;
  }
  if (type == "phase" || type == "log") return line(out_, text_of(event, "text"));
  if (type == "warning") return line(err_, "warning: " + text_of(event, "text"));
  if (type == "saved") return line(out_, "saved " + text_of(event, "path"));
  if (type == "sample") return line(out_, "picture " + text_of(event, "path"));
  if (type != "result") return;
  for (const auto& [key, value] : event.items()) {
    if (key == "type" || key == "time" || is_for_programs(key)) continue;
    const std::string shown = value.is_string()         ? value.get<std::string>()
                              : value.is_number_float() ? format("%.6g", value.get<double>())
                                                        : value.dump();
    line(out_, label_of(key) + ": " + shown);
  }
}

void EventView::print(const std::string& text) { line(err_, text); }

void EventView::progress(const ordered_json& event) {
  const int64_t total = event.value("total", int64_t{0});
  const std::string phase = text_of(event, "phase");
  const bool is_edge = phase != last_phase_ || (total > 0 && event.value("step", int64_t{0}) >= total);
  const Clock::time_point now = options_.now();
  if (!is_edge &&
      now - last_ < (options_.is_terminal ? Clock::duration(kTerminalInterval) : Clock::duration(kPipeInterval)))
    return;
  last_ = now;
  last_phase_ = phase;
  const std::string text = base::printable_text(progress_text(event) + (device_.empty() ? "" : " | " + device_));
  if (!options_.is_terminal) {
    out_ << text << "\n" << std::flush;
    return;
  }
  // Overwrites what stood there; no escape codes needed.
  const std::string blanks(shown_width_ > text.size() ? shown_width_ - text.size() : 0, ' ');
  out_ << "\r" << text << blanks << std::flush;
  shown_width_ = text.size();
}

void EventView::line(std::ostream& stream, const std::string& text) {
  if (shown_width_ > 0) {
    out_ << "\r" << std::string(shown_width_, ' ') << "\r" << std::flush;
    shown_width_ = 0;
  }
  stream << base::printable_text(text) << "\n" << std::flush;
}

void EventView::finish() {
  if (shown_width_ > 0) out_ << "\n" << std::flush;
  shown_width_ = 0;
}

}  // namespace cinnabar::cli
