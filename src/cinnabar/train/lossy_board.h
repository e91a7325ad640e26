// TensorBoard records of a run that may get lost: a full disk costs records, never the training.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string_view>

#include "cinnabar/base/events.h"
#include "cinnabar/formats/tensorboard.h"

namespace cinnabar::train {

class LossyBoard {
 public:
  // Throws Error{Io} or Error{OutOfSpace} when there can be no file at the start. The sink must outlive it.
  LossyBoard(const std::filesystem::path& folder, base::EventSink& events, double retry_s = 60.0);

  // The first one that cannot be written is a warning. A new file is tried every `retry_s` seconds; TensorBoard joins
  // the files of a folder.
  void scalar(std::string_view tag, int64_t step, float value);
  // Waits until what was written is on the disk.
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  bool has_file();
  void give_up(const base::Error& error);

  std::filesystem::path folder_;
  base::EventSink& events_;
  double retry_s_;
  std::unique_ptr<formats::TensorBoardWriter> file_;
  Clock::time_point next_try_{};
};

}  // namespace cinnabar::train
