#include "cinnabar/train/training_log.h"

#include <numeric>

#include "cinnabar/base/local_time.h"
#include "cinnabar/train/memory_report.h"

namespace cinnabar::train {

TrainingLog::TrainingLog(const schema::Values& values, const LogPlan& plan, base::EventSink& events)
    : plan_(plan), events_(events) {
  if (const auto folder = values.maybe_text("logging_dir")) {
    const std::string name = values.maybe_text("log_prefix").value_or("") + base::local_time("%Y%m%d%H%M%S");
    board_ = std::make_unique<LossyBoard>(std::filesystem::path(*folder) / name / "network_train", events);
  }
}

double TrainingLog::average() const {
  if (window_.empty()) return 0.0;
  return std::accumulate(window_.begin(), window_.end(), 0.0) / static_cast<double>(window_.size());
}

void TrainingLog::restore(LogState state) {
  window_ = std::move(state.window);
  position_ = window_.empty() ? 0 : state.position % window_.size();
}

void TrainingLog::step(const StepReport& report) {
  // As the reference's recorder: the first epoch appends, later ones replace the value at the same place.
  if (window_.size() < static_cast<size_t>(plan_.steps_per_epoch)) {
    window_.push_back(report.loss);
  } else {
    window_[position_] = report.loss;
    position_ = (position_ + 1) % window_.size();
  }
  const Clock::time_point now = Clock::now();
  if (steps_here_++ == 0) first_step_ = now;
  base::Progress progress{.phase = "train",
                          .step = report.step,
                          .total = plan_.total_steps,
                          .epoch = report.epoch,
                          .epochs = plan_.epochs,
                          .loss = report.loss,
                          .average_loss = average(),
                          .grad_norm = report.grad_norm,
                          .memory_bytes = report.memory_bytes ? *report.memory_bytes : resident_memory().now};
  if (!report.rates.empty()) progress.learning_rate = report.rates.back().second;
  // Of optimizers that find the size of their steps: what the parameters saw, not the factor on it.
  for (const auto& [key, value] : report.more) {
    if (key.starts_with("lr/d*lr/")) progress.learning_rate = value;
  }
  const double elapsed_s = std::chrono::duration<double>(now - first_step_).count();
  if (steps_here_ > 1 && elapsed_s > 0) {
    progress.steps_per_s = static_cast<double>(steps_here_ - 1) / elapsed_s;
    progress.left_s = static_cast<double>(plan_.total_steps - report.step) / *progress.steps_per_s;
  }
  events_.progress(progress);
  if (!board_) return;
  board_->scalar("loss/current", report.step, static_cast<float>(report.loss));
  board_->scalar("loss/average", report.step, static_cast<float>(average()));
  board_->scalar("norm/grad", report.step, static_cast<float>(report.grad_norm));
  for (size_t i = 0; i < report.rates.size(); ++i) {
    const auto& [name, rate] = report.rates[i];
    board_->scalar("lr/" + name, report.step, static_cast<float>(rate));
    // The reference writes every group but the first a second time, under its number.
    if (i > 0) board_->scalar("lr/group" + std::to_string(i), report.step, static_cast<float>(rate));
  }
  for (const auto& [key, value] : report.more) board_->scalar(key, report.step, static_cast<float>(value));
}

void TrainingLog::validation(const ValidationReport& report) {
  if (!board_) return;
  const std::string key = report.is_epoch_end ? "loss/validation/epoch_" : "loss/validation/step_";
  const int64_t at = report.is_epoch_end ? report.epoch : report.step;
  board_->scalar(key + "average", at, static_cast<float>(report.loss));
  board_->scalar(key + "divergence", at, static_cast<float>(report.loss - average()));
}

void TrainingLog::epoch_end(int64_t epoch) {
  if (board_) board_->scalar("loss/epoch_average", epoch, static_cast<float>(average()));
}

void TrainingLog::flush() {
  if (board_) board_->flush();
}

}  // namespace cinnabar::train
