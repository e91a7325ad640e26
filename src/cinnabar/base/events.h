// What a run tells while it works: one JSON object a line, written to a pipe that the starting program reads
// (docs/events.md lists every type and field). The engine gets an EventSink and calls it from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cinnabar/base/error.h"

namespace cinnabar::base {

// One state of a loop. Only `step` and `total` must be set.
struct Progress {
  std::string phase = "train";  // "train", "cache_latents", "cache_text", "sample", ...
  int64_t step = 0;             // done so far
  int64_t total = 0;            // 0: unknown
  int64_t epoch = 0;            // 1-based; 0: does not apply
  int64_t epochs = 0;
  std::optional<double> loss{};          // of this step
  std::optional<double> average_loss{};  // over the last epoch's worth of steps
  std::optional<double> learning_rate{};
  std::optional<double> grad_norm{};  // before clipping
  std::optional<double> steps_per_s{};
  std::optional<double> left_s{};         // estimated time left
  std::optional<int64_t> memory_bytes{};  // device memory in use, or resident memory on the CPU
};

using EventValue = std::variant<bool, int64_t, double, std::string>;

class EventSink {
 public:
  virtual ~EventSink() = default;

  // A new part of the work begins, in words for the user: "Loading the model".
  void phase(std::string_view text);
  void progress(const Progress& state);
  void log(std::string_view text);
  void warning(std::string_view text);
  // A file or folder is complete on disk. `kind`: "adapter", "model", "state", "picture", "cache".
  void saved(const std::filesystem::path& path, std::string_view kind, int64_t step, int64_t epoch = 0);
  // The run goes on from a saved state.
  void resumed(const std::filesystem::path& path, int64_t step, int64_t epoch);
  // A preview picture is complete on disk.
  void sample(const std::filesystem::path& path, std::string_view prompt, int64_t seed, int64_t step);
  // The outcome, at the end: for instance {"output": path, "steps": 100, "loss": 0.1}.
  void result(const std::map<std::string, EventValue>& fields);
  void error(const Error& error);

 protected:
  // One JSON object without line break. Calls never overlap. Must not throw.
  virtual void write(const std::string& line) noexcept = 0;

 private:
  void send(const std::string& line);
  std::mutex mutex_;
};

// Writes lines to a descriptor that it does not own. When the reader is gone, is_broken() becomes true and lines are
// dropped.
class DescriptorEvents : public EventSink {
 public:
  explicit DescriptorEvents(int fd) : fd_(fd) {}
  bool is_broken() const { return is_broken_; }

 protected:
  void write(const std::string& line) noexcept override;

 private:
  int fd_;
  bool is_broken_ = false;
};

// Keeps the lines, for tests and for callers inside the program.
class RecordedEvents : public EventSink {
 public:
  const std::vector<std::string>& lines() const { return lines_; }

 protected:
  void write(const std::string& line) noexcept override { lines_.push_back(line); }

 private:
  std::vector<std::string> lines_;
};

class SilentEvents : public EventSink {
 protected:
  void write(const std::string&) noexcept override {}
};

}  // namespace cinnabar::base
