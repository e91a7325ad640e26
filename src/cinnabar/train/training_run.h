// The state of one training run and its loop; trainer.h is the door.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/data/latent_cache.h"
#include "cinnabar/data/loader.h"
#include "cinnabar/lr/schedule.h"
#include "cinnabar/noise/noise_source.h"
#include "cinnabar/optim/optimizer.h"
#include "cinnabar/plan/steps.h"
#include "cinnabar/sample/preview.h"
#include "cinnabar/train/batch_inputs.h"
#include "cinnabar/train/ema.h"
#include "cinnabar/train/foreign_state.h"
#include "cinnabar/train/gradient_scaler.h"
#include "cinnabar/train/hang_watchdog.h"
#include "cinnabar/train/lineage.h"
#include "cinnabar/train/loaded_model.h"
#include "cinnabar/train/memory_report.h"
#include "cinnabar/train/output_lock.h"
#include "cinnabar/train/resume.h"
#include "cinnabar/train/run_telemetry.h"
#include "cinnabar/train/save_queue.h"
#include "cinnabar/train/saver.h"
#include "cinnabar/train/step.h"
#include "cinnabar/train/step_profile.h"
#include "cinnabar/train/text_states.h"
#include "cinnabar/train/training_log.h"
#include "cinnabar/train/validation.h"

namespace cinnabar::train {

class TrainingRun {
 public:
  TrainingRun(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop);
  void run();

 private:
  void read_data();
  void cache_latents();
  void make_plan();
  void make_optimizer();
  void fill_caches();
  void make_saver();
  StatefulParts stateful_parts();
  RunIdentity identity() const;
  // Takes over the state to go on from, if there is one, or the place that initial_step or initial_epoch names.
  void go_to_start();
  void go_to(int64_t step);
  void load_foreign();

  void run_epoch(int64_t epoch);

  // run_rescue.cpp.
  // Does a step or a measurement. When it fails, file and state of the last whole step are saved, as after a signal,
  // and the error says so.
  void guarded(int64_t epoch, const std::function<void()>& work);
  // What was saved for the error, in words. Never throws.
  std::string rescue(int64_t epoch) noexcept;
  // Saves and ends the run when a signal came.
  void stop_if_asked(int64_t epoch);

  // run_step.cpp.
  struct StepSum {
    double loss = 0.0;  // over its batches, those that were left out as 0
    int64_t batches = 0;
    bool has_gradient = false;  // something of it had a finite loss
  };
  void one_step(data::Loader& loader, int64_t epoch);
  // Takes batches from the loader, after those that are there already, and adds up the gradients of all.
  void add_gradients(data::Loader& loader, std::vector<data::LoadedBatch>& batches, int64_t epoch, StepSum& sum);
  void micro_step(const data::LoadedBatch& batch, int64_t epoch, StepSum& sum);
  void optimizer_step(int64_t epoch, const StepSum& sum);
  void report_bad_loss(const data::LoadedBatch& part);
  void count_bad_step(bool is_finite, bool has_gradient);
  // Lets the step be tried again as it is, then in smaller parts, and stops when there are none.
  void make_room(const std::string& problem, const std::vector<data::LoadedBatch>& batches, bool is_second,
                 int64_t epoch);
  [[noreturn]] void stop_without_memory(const std::string& problem, int64_t epoch);
  [[noreturn]] void stop_diverged(const std::string& what);

  void watch_steps();
  void validate(int64_t epoch, bool is_epoch_end);
  // What is due after a step or at the end of an epoch: file and state, then pictures.
  void save_and_preview(int64_t epoch, bool is_epoch_end);
  void preview(const sample::PreviewPoint& point);
  // Copies the network as it is to be used (with ema the average, and what ema_save_raw adds) and the state, and lets
  // them be written beside the training. What is no longer to be kept is removed afterwards.
  void save(const plan::Save& save, int64_t epoch, bool has_state);
  // Of what the save makes superfluous; to be called after it is complete.
  std::vector<std::function<void()>> removals_of(const plan::Save& save);
  void complete_save();
  std::filesystem::path state_folder(const std::string& stem) const;
  // Saves file and state of this step and says so in words.
  std::string save_here(int64_t epoch);
  [[noreturn]] void stop_here(int64_t epoch);
  // What there is to go on from, in words: as it is now, and once the save that is under way has ended.
  std::string latest_text() const;
  std::string settled_text();
  bool is_finished() const { return at_.step >= plan_.max_train_steps; }
  // With all that is due at the end of its last epoch, which a run that was killed after its last step lacks.
  bool is_done() const { return is_finished() && at_.is_epoch_over; }

  std::unique_ptr<OutputLock> lock_;  // first, so that it ends last
  ProfiledSteps profiled_;
  MemoryReport memory_;    // begins with the program alone
  schema::Values values_;  // with the seed that was drawn when none was given
  base::EventSink& events_;
  const std::atomic<bool>& stop_;
  data::PictureNotes notes_{[this](const std::string& text) { events_.warning(text); }};
  uint64_t seed_ = 0;
  std::optional<SavedState> resumed_;
  std::string lineage_;  // RunIdentity
  std::optional<ForeignState> foreign_;
  std::string data_hash_;
  PictureHashes picture_hashes_;
  LoadedModel base_;
  std::vector<data::Dataset> datasets_;
  std::vector<data::Dataset> held_out_;  // until validation_ takes them
  plan::StepPlan plan_;
  int64_t accumulation_ = 1;
  double max_grad_norm_ = 1.0;
  size_t micro_batch_ = 0;     // pictures computed at a time; 0: whole batches
  int64_t save_count_ = 0;     // of this process
  double save_pause_s_ = 0.0;  // that they held the training up
  int64_t first_step_ = 0;     // where this process began
  bool is_text_trained_ = false;
  std::unique_ptr<adapters::AdapterSet> set_;
  optim::FlatParameters parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  lr::Rates rates_;
  std::unique_ptr<Ema> ema_;  // null without ema
  GradientScaler scaler_;
  std::unique_ptr<data::LatentCache> latents_;
  std::unique_ptr<TextStates> text_;
  std::unique_ptr<TrainingStep> training_step_;
  std::unique_ptr<noise::NoiseSource> noise_;
  std::unique_ptr<BatchInputs> inputs_;
  std::unique_ptr<Validation> validation_;
  std::unique_ptr<Saver> saver_;
  std::unique_ptr<plan::SavePlan> saves_;
  std::unique_ptr<TrainingLog> log_;
  std::unique_ptr<sample::Previews> previews_;

  std::unique_ptr<HangWatchdog> watchdog_;   // null: nothing is watched
  std::unique_ptr<RunTelemetry> telemetry_;  // null: no sensors are read

  RunPosition at_;
  bool is_updating_ = false;  // weights and moments are between two steps
  // Last, so that it ends first: the write that is going on still uses the rest.
  std::unique_ptr<SaveQueue> queue_;
};

}  // namespace cinnabar::train
