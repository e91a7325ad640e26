// What a run does when a step or a measurement fails, or a signal comes: what was trained is saved before it ends.
#include <exception>

#include "cinnabar/base/error.h"
#include "cinnabar/train/last_word.h"
#include "cinnabar/train/training_run.h"

namespace cinnabar::train {

void TrainingRun::guarded(int64_t epoch, const std::function<void()>& work) {
  const RunPosition begin = at_;
  try {
    work();
    return;
  } catch (const LastWord&) {
    throw;
  } catch (const base::Error& error) {
    if (error.code() == base::ErrorCode::Cancelled) throw;
    if (!is_updating_) at_ = begin;
    throw base::Error(error.code(), error.message() + ". " + rescue(epoch), error.context());
  } catch (const std::exception&) {
    if (!is_updating_) at_ = begin;
    // Faults of libraries are put into words where the process ends.
    events_.warning("The training fails after step " + std::to_string(at_.step) + ". " + rescue(epoch));
    throw;
  }
}

std::string TrainingRun::rescue(int64_t epoch) noexcept {
  try {
    if (is_updating_) return "It happened in the middle of an update, so nothing is saved of it. " + settled_text();
    if (at_.step == first_step_) return settled_text();
    parameters_.zero_gradients();
    std::string saved = save_here(epoch);
    return "What was trained until step " + std::to_string(at_.step) + " is kept: " + saved;
  } catch (const std::exception& error) {
    return "Saving what was trained failed, too: " + base::first_line(error.what());
  }
}

void TrainingRun::stop_if_asked(int64_t epoch) {
  if (stop_.load() && !is_finished()) stop_here(epoch);
}

}  // namespace cinnabar::train
