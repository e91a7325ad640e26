// Numbers of a run: progress events with the time left, and TensorBoard files under sd-scripts' keys.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/schema/values.h"
#include "cinnabar/train/lossy_board.h"

namespace cinnabar::train {

struct StepReport {
  int64_t step = 0;  // optimizer steps done
  int64_t epoch = 0;
  double loss = 0.0;
  double grad_norm = 0.0;
  std::vector<std::pair<std::string, double>> rates{};  // by group, as sd-scripts names them
  std::vector<std::pair<std::string, double>> more{};   // further records under their full keys, "norm/avg_key_norm"
  std::optional<int64_t> memory_bytes{};  // of the device; empty on the CPU, where resident memory is told
};

struct ValidationReport {
  int64_t step = 0;
  int64_t epoch = 0;
  bool is_epoch_end = false;
  double loss = 0.0;
};

struct LogPlan {
  int64_t total_steps = 0;
  int64_t epochs = 0;
  int64_t steps_per_epoch = 1;  // window of the moving average
};

// What a saved state of a run has to keep: the moving average.
struct LogState {
  std::vector<double> window{};
  size_t position = 0;
};

class TrainingLog {
 public:
  // With logging_dir, writes to LOGGING_DIR/PREFIX + time/network_train. The sink must outlive the log.
  TrainingLog(const schema::Values& values, const LogPlan& plan, base::EventSink& events);

  void step(const StepReport& report);
  // loss/validation/step_average and step_divergence, or epoch_average and epoch_divergence over epochs; divergence is
  // the loss minus the moving average of the training.
  void validation(const ValidationReport& report);
  void epoch_end(int64_t epoch);
  double average() const;
  LogState state() const { return {window_, position_}; }
  void restore(LogState state);
  // Waits until the event files are on the disk.
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  LogPlan plan_;
  base::EventSink& events_;
  std::unique_ptr<LossyBoard> board_;
  std::vector<double> window_;  // losses of the last epoch's worth of steps
  size_t position_ = 0;
  int64_t steps_here_ = 0;  // of this process
  Clock::time_point first_step_{};
};

}  // namespace cinnabar::train
