#include "cinnabar/train/lossy_board.h"

#include "cinnabar/base/error.h"

namespace cinnabar::train {

LossyBoard::LossyBoard(const std::filesystem::path& folder, base::EventSink& events, double retry_s)
    : folder_(folder),
      events_(events),
      retry_s_(retry_s),
      file_(std::make_unique<formats::TensorBoardWriter>(folder)) {}

void LossyBoard::give_up(const base::Error& error) {
  file_ = nullptr;
  next_try_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(retry_s_));
  events_.warning("records of this run are lost: " + error.message() +
                  ". The training goes on; this is told once, until they can be written again");
}

bool LossyBoard::has_file() {
  if (file_) return true;
  const Clock::time_point now = Clock::now();
  if (now < next_try_) return false;
  next_try_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(retry_s_));
  try {
    file_ = std::make_unique<formats::TensorBoardWriter>(folder_);
  } catch (const base::Error&) {
    return false;  // as told
  }
  events_.log("Records are written again, to " + file_->path().string() + ".");
  return true;
}

void LossyBoard::scalar(std::string_view tag, int64_t step, float value) {
  if (!has_file()) return;
  try {
    file_->scalar(tag, step, value);
  } catch (const base::Error& error) {
    give_up(error);
  }
}

void LossyBoard::flush() {
  if (!file_) return;
  try {
    file_->flush();
  } catch (const base::Error& error) {
    give_up(error);
  }
}

}  // namespace cinnabar::train
