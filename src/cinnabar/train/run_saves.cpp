// What a run saves: files, states and previews when they are due, and what is saved when it ends before its time.
#include <algorithm>
#include <chrono>
#include <iterator>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/train/evaluation_scope.h"
#include "cinnabar/train/finite_check.h"
#include "cinnabar/train/resume.h"
#include "cinnabar/train/resume_run.h"
#include "cinnabar/train/run_state.h"
#include "cinnabar/train/training_run.h"

namespace cinnabar::train {

void TrainingRun::save_and_preview(int64_t epoch, bool is_epoch_end) {
  const auto due = is_epoch_end ? saves_->at_epoch_end(epoch) : saves_->at_step(at_.step);
  if (due) save(*due, is_epoch_end ? epoch : epoch - 1, values_.flag("save_state"));
  preview({.step = at_.step, .epoch = is_epoch_end ? epoch : epoch - 1, .is_epoch_end = is_epoch_end});
}

std::filesystem::path TrainingRun::state_folder(const std::string& stem) const {
  return saver_->folder() / (stem + "-state");
}

std::vector<std::function<void()>> TrainingRun::removals_of(const plan::Save& save) {
  std::vector<std::function<void()>> removals;
  if (!save.removed_stem.empty()) removals.push_back(saver_->prepare_removal(save.removed_stem));
  if (save.removed_state_stem.empty()) return removals;
  removals.emplace_back([this, folder = state_folder(save.removed_state_stem)] {
    std::error_code error;
    if (!std::filesystem::exists(folder, error)) return;
    if (base::remove_committed(folder)) {
      events_.log("Removed the older " + folder.filename().string() + ".");
    } else {
      events_.warning("cannot remove the older " + folder.string());
    }
  });
  return removals;
}

// What a stopped or killed run could not do any more at the step of the state that this one goes on from.
void TrainingRun::complete_save() {
  if (validation_->is_due_at_step(at_.step) && !validation_->is_measured(at_.step)) {
    guarded(at_.epoch, [&] { validate(at_.epoch, false); });
    stop_if_asked(at_.epoch);
  }
  const bool is_epoch_end = at_.batches == 0;
  const auto due = is_epoch_end ? saves_->at_epoch_end(at_.epoch - 1) : saves_->at_step(at_.step);
  if (due) {
    for (const std::function<void()>& remove : removals_of(*due)) remove();
  }
  const sample::PreviewPoint point{.step = at_.step, .epoch = at_.epoch - 1, .is_epoch_end = is_epoch_end};
  if (previews_->due(point) && previews_->is_missing(point)) preview(point);
}

void TrainingRun::save(const plan::Save& save, int64_t epoch, bool has_state) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::function<void()>> writes;
  check_mapped_files(base_);
  check_finite(parameters_.values(), saver_->path_of(save.stem));
  if (ema_) check_finite(ema_->state(), saver_->path_of(save.stem));
  if (ema_ && values_.flag("ema_save_raw")) {
    const EvaluationScope last(*optimizer_, parameters_);
    writes.push_back(saver_->prepare(save.stem + kRawEnding, {at_.step, epoch, false}));
  }
  {
    const EvaluationScope evaluation(*optimizer_, parameters_, ema_.get());
    writes.push_back(saver_->prepare(save.stem, {at_.step, epoch, ema_ != nullptr}));
  }
  std::vector<std::function<void()>> removals = removals_of(save);
  if (has_state) {
    at_.is_vae_float = base_.is_vae_float;
    const auto snapshot = std::make_shared<StateSnapshot>(take_snapshot(stateful_parts(), at_, identity()));
    writes.emplace_back([this, snapshot, folder = state_folder(save.stem), step = at_.step, epoch] {
      write_state(folder, *snapshot);
      events_.saved(folder, "state", step, epoch);
    });
  }
  std::ranges::move(removals, std::back_inserter(writes));
  queue_->submit("The save of step " + std::to_string(at_.step),
                 [writes = std::move(writes), done = std::make_shared<size_t>(0)] {
                   for (; *done < writes.size(); ++*done) writes[*done]();
                 });
  ++save_count_;
  save_pause_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void TrainingRun::preview(const sample::PreviewPoint& point) {
  if (!previews_->due(point)) return;
  const EvaluationScope evaluation(*optimizer_, parameters_, ema_.get());
  set_->set_step({});
  previews_->run(*base_.model, point, events_, stop_);
}

std::string TrainingRun::save_here(int64_t epoch) {
  const std::string digits = std::to_string(at_.step);
  const std::string stem =
      saves_->final_stem() + "-step" + std::string(8 - std::min<size_t>(8, digits.size()), '0') + digits;
  // With its state, asked for or not: whoever stops a run wants to go on some time.
  save({.stem = stem}, epoch - 1, true);
  queue_->finish();
  log_->flush();
  return "saved " + saver_->path_of(stem).string() + " and the state to go on from: the same command with --resume " +
         state_folder(stem).string();
}

void TrainingRun::stop_here(int64_t epoch) {
  const std::string saved = save_here(epoch);
  throw base::Error(base::ErrorCode::Cancelled, "stopped after step " + std::to_string(at_.step) + " of " +
                                                    std::to_string(plan_.max_train_steps) + "; " + saved);
}

std::string TrainingRun::settled_text() {
  try {
    queue_->finish();
  } catch (const base::Error& error) {
    return "The save that was under way failed: " + base::first_line(error.what()) + ". " + latest_text();
  }
  return latest_text();
}

std::string TrainingRun::latest_text() const {
  auto states = states_in(saver_->folder(), saves_->final_stem());
  std::erase_if(states, [&](const auto& folder) { return summary_of_state(folder).lineage != lineage_; });
  const std::string file = saver_->nearest(at_.step).name;
  std::string text = file.empty() ? "No file of this run was saved yet" : "The latest saved file is " + file;
  if (states.empty() && resumed_)
    return text + "; the state that it went on from is " + resumed_->folder.string() + ".";
  if (states.empty()) return text + "; with save_state and save_every_n_steps there are states to go on from.";
  return text + ", the latest state " + states.front().string() +
         ": the same command with --resume auto goes on from it.";
}

StatefulParts TrainingRun::stateful_parts() {
  return {parameters_, *optimizer_, ema_.get(), scaler_, *log_, *validation_, saver_->saved_files()};
}

RunIdentity TrainingRun::identity() const {
  return {.seed = seed_,
          .model_hash = base_.hash,
          .data_hash = data_hash_,
          .max_train_steps = plan_.max_train_steps,
          .batches_per_epoch = plan_.batches_per_process,
          .lineage = lineage_,
          .runs = runs_of(values_, resumed_),
          .pictures_hash = picture_hashes_.pictures,
          .picture_times = picture_hashes_.times,
          .options = option_texts(values_)};
}

}  // namespace cinnabar::train
