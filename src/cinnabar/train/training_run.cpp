#include "cinnabar/train/training_run.h"

#include <algorithm>
#include <iostream>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/counted.h"
#include "cinnabar/base/drawn_seed.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/batch_plan.h"
#include "cinnabar/data/validation_split.h"
#include "cinnabar/tensor/finite_file.h"
#include "cinnabar/tensor/host_memory.h"
#include "cinnabar/train/disk_check.h"
#include "cinnabar/train/early_checks.h"
#include "cinnabar/train/evaluation_scope.h"
#include "cinnabar/train/family_checks.h"
#include "cinnabar/train/foreign_state.h"
#include "cinnabar/train/memory_report.h"
#include "cinnabar/train/network_setup.h"
#include "cinnabar/train/network_source.h"
#include "cinnabar/train/resume_run.h"
#include "cinnabar/train/run_caches.h"
#include "cinnabar/train/run_data.h"
#include "cinnabar/train/run_facts.h"
#include "cinnabar/train/run_length.h"
#include "cinnabar/train/run_optimizer.h"
#include "cinnabar/train/run_summary.h"

namespace cinnabar::train {

namespace {

// The last file of a training is written before its last state; one that is younger is of another training.
bool is_written_later(const std::filesystem::path& file, const std::filesystem::path& state) {
  std::error_code error;
  const auto of_file = std::filesystem::last_write_time(file, error);
  if (error) return false;
  const auto of_state = std::filesystem::last_write_time(state / base::kManifestName, error);
  return !error && of_file > of_state;
}

// Splits off the pictures of the validation, and says so.
std::vector<data::Dataset> hold_out(std::vector<data::Dataset>& datasets, const schema::Values& values,
                                    base::EventSink& events) {
  const bool is_wanted =
      std::ranges::any_of(datasets, [](const auto& one) { return one.options.validation_split > 0; });
  if (!is_wanted) {
    for (const char* name : {"validate_every_n_steps", "validate_every_n_epochs", "max_validation_steps"}) {
      if (values.has(name) && values.has("dataset_config"))  // else it was noted already
        events.warning(std::string(name) + " has no effect: validation_split holds no pictures out");
    }
    return {};
  }
  const auto seed = static_cast<uint64_t>(values.integer("seed"));
  std::vector<data::Dataset> held_out = data::take_validation(datasets, seed);
  int64_t count = 0;
  for (const data::Dataset& dataset : held_out) count += dataset.item_count();
  if (count == 0) events.warning("validation_split is too small a share of these pictures: nothing is held out");
  if (count > 0)
    events.log("Validation: " + base::counted(count, "picture") + (count == 1 ? " is" : " are") +
               " held out and not trained.");
  if (data::batch_count(datasets) == 0) {
    throw base::Error(base::ErrorCode::Data,
                      "validation_split holds every picture out, so that nothing is left to train; lower it");
  }
  return held_out;
}

MemoryUse memory_use(const LoadedModel& base, const optim::FlatParameters& parameters, optim::Optimizer& optimizer) {
  const WeightBytes weights = weight_bytes(base);
  MemoryUse use{.weights = weights.all, .mapped = weights.mapped, .network = parameters.parameter_count() * 8};
  for (const auto& [name, tensor] : optimizer.state()) use.network += static_cast<int64_t>(tensor.nbytes());
  return use;
}

void add_validation(const Validation& validation, const Saver& saver, std::map<std::string, base::EventValue>& result) {
  if (validation.losses().empty()) return;
  const Verdict verdict = validation.verdict();
  const SavedFile nearest = saver.nearest(verdict.best_step);
  result["validation_loss"] = validation.losses().back().loss;
  result["validation_best_loss"] = verdict.best_loss;
  result["validation_best_step"] = verdict.best_step;
  result["validation_nearest_file"] = nearest.name;
  result["validation_nearest_file_step"] = nearest.step;
  result["validation"] = to_text(verdict, nearest.name, nearest.step);
}

}  // namespace

TrainingRun::TrainingRun(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop)
    : values_(values),
      events_(events),
      stop_(stop),
      scaler_(values.maybe_text("mixed_precision").value_or("no") == "fp16") {
  if (const int64_t threads = values.maybe_integer("threads").value_or(0); threads > 0) {
    at::set_num_threads(static_cast<int>(threads));
  }
  check_folders(values_);
  lock_ = std::make_unique<OutputLock>(values_.text("output_dir"), values_.maybe_text("output_name").value_or("last"),
                                       events_, own_run(values_));
  if (const auto folder = values_.maybe_text("resume")) foreign_ = foreign_state(*folder);
  if (!foreign_) resumed_ = state_to_resume(values_, events_);
  lineage_ = lineage_of(resumed_, values_);
  if (const auto seed = values.maybe_integer("seed")) {
    seed_ = static_cast<uint64_t>(*seed);
  } else if (resumed_) {
    seed_ = resumed_->identity.seed;
    values_.set("seed", static_cast<int64_t>(seed_));
  } else {
    // Recorded, so that the run can be repeated.
    values_.set("seed", base::drawn_seed());
    seed_ = static_cast<uint64_t>(values_.integer("seed"));
    events.log("seed was not given; this run uses " + std::to_string(seed_) + ".");
  }
  if (const auto more = values_.maybe_integer("train_more_steps")) {
    values_.set("max_train_steps", (resumed_ ? resumed_->position.step : 0) + *more);
    values_.set("max_train_epochs", std::monostate{});
  }
  if (resumed_ && !values_.has("max_train_epochs"))
    check_steps_left(*resumed_, values_.maybe_integer("max_train_steps").value_or(1600), values_);
  accumulation_ = values.maybe_integer("gradient_accumulation_steps").value_or(1);
  max_grad_norm_ = values.maybe_number("max_grad_norm").value_or(1.0);
  micro_batch_ = static_cast<size_t>(values.maybe_integer("micro_batch_size").value_or(0));
  read_data();
  base_ = load_run_model(values_, events);
  check_bucket_steps(datasets_, base_.model->info(), events_);
  set_ = attach_network(values_, base_, seed_, events_);
  if (foreign_) load_foreign();
  is_text_trained_ = gather_parameters(values_, base_, *set_, parameters_, events_);
  training_step_ = std::make_unique<TrainingStep>(*base_.model, values_);
  training_step_->to(base_.device);
  noise_ = std::make_unique<noise::NoiseSource>(values_, training_step_->table().steps());
  check_optimizer(values_, parameters_, plan_run(datasets_, values_).max_train_steps);
  cache_latents();
  make_plan();
  make_optimizer();
  validation_ = std::make_unique<Validation>(values_, std::move(held_out_), seed_, training_step_->table().steps());
  previews_ =
      std::make_unique<sample::Previews>(values_, base_.model->info(), picture_facts(values_, base_.hash), events);
  make_saver();
  log_ = std::make_unique<TrainingLog>(values_, LogPlan{plan_.max_train_steps, plan_.epochs, plan_.steps_per_epoch},
                                       events);
}

void TrainingRun::read_data() {
  events_.phase("Reading the data set");
  datasets_ = scan_run_data(values_, events_);
  held_out_ = hold_out(datasets_, values_, events_);
}

void TrainingRun::cache_latents() {
  std::vector<data::Dataset> all = datasets_;
  all.insert(all.end(), held_out_.begin(), held_out_.end());
  latents_ = cached_latents({values_, all, base_, events_, stop_});
  if (!latents_ || latents_->faults().empty()) return;
  leave_out_faulty(datasets_, held_out_, *latents_);
  write_dataset_report(datasets_, values_);
}

// After the caches, since pictures that cannot be cached are left out.
void TrainingRun::make_plan() {
  plan_ = plan_run(datasets_, values_);
  if (resumed_) check_steps_left(*resumed_, plan_.max_train_steps, values_);
  for (const std::string& line : length_text(datasets_, values_, plan_)) events_.log(line);
  events_.log("Training " + base::counted(plan_.max_train_steps, "step") + " in " +
              base::counted(plan_.epochs, "epoch") + " of " + base::counted(plan_.batches_per_process, "batch") + ".");
}

void TrainingRun::make_optimizer() {
  RunOptimizer made = make_run_optimizer(values_, parameters_, plan_.max_train_steps, events_);
  optimizer_ = std::move(made.optimizer);
  rates_ = std::move(made.rates);
  ema_ = Ema::from(values_, parameters_);
  const std::string warmup = warmup_warning(values_, plan_.max_train_steps);
  if (!warmup.empty()) events_.warning(warmup);
  SummaryFacts facts{.values = values_,
                     .family = base_.model->info().family,
                     .prediction = base_.model->info().objective == models::Objective::Velocity ? "v" : "the noise",
                     .device = base_.device.str(),
                     .optimizer = values_.maybe_text("optimizer_type").value_or(""),
                     .layers = set_->size(),
                     .parameters = parameters_.parameter_count(),
                     .steps = plan_.max_train_steps};
  for (const optim::ParameterGroup& group : parameters_.groups()) facts.rates.emplace_back(group.name, group.lr);
  for (const std::string& line : summary_lines(facts)) events_.log(line);
}

void TrainingRun::make_saver() {
  adapters::TrainingFacts facts =
      training_facts({values_, base_, datasets_, plan_, validation_ ? validation_->picture_count() : 0});
  saver_ = std::make_unique<Saver>(*set_, std::move(facts), values_, events_);
  saves_ = std::make_unique<plan::SavePlan>(save_options(values_), plan_.epochs);
  std::error_code ignored;
  const auto last = saver_->path_of(saves_->final_stem());
  const bool has_steps_left = !resumed_ || resumed_->position.step < plan_.max_train_steps;
  if (has_steps_left && std::filesystem::exists(last, ignored))
    events_.log(last.string() + " is there already; this training replaces it at its end.");
  const int64_t network_bytes = parameters_.parameter_count() * 4;
  int64_t state_bytes = network_bytes * (ema_ ? 2 : 1);
  for (const auto& [name, tensor] : optimizer_->state()) state_bytes += static_cast<int64_t>(tensor.nbytes());
  check_space(saver_->folder(), {network_bytes, values_.flag("save_state") ? state_bytes : 0});
  const double minutes = values_.maybe_number("disk_wait_minutes").value_or(15.0);
  queue_ = std::make_unique<SaveQueue>(events_, stop_,
                                       SaveQueueOptions{.retry_s = std::clamp(minutes * 4.0, 1.0, 60.0),
                                                        .most_wait_s = minutes * 60.0,
                                                        .last_resort = [this] { return saver_->make_folder_anew(); }});
}

void TrainingRun::fill_caches() {
  std::vector<data::Dataset> all = datasets_;
  all.insert(all.end(), validation_->datasets().begin(), validation_->datasets().end());
  const CacheRequest request{values_, all, base_, events_, stop_};
  if (latents_ && !previews_->is_on()) base_.model->release("vae");
  text_ = cached_text(request, is_text_trained_);
  if (!previews_->is_on()) release_text_encoders(request);
  memory_.phase_done("the model was loaded and the caches were made");
  if (base_.device.is_cpu() && !is_low_memory(values_, base_.device)) tensor::keep_freed_memory();
  inputs_ = std::make_unique<BatchInputs>(base_, *training_step_, *noise_, *text_, events_);
}

void TrainingRun::run_epoch(int64_t epoch) {
  data::Loader loader(datasets_, {.seed = seed_,
                                  .epoch = static_cast<uint64_t>(epoch),
                                  .first_batch = static_cast<size_t>(at_.batches),
                                  .steps_before = at_.epoch_first_step,
                                  .accumulation = accumulation_,
                                  .max_train_steps = plan_.max_train_steps,
                                  .prior_loss_weight = values_.maybe_number("prior_loss_weight").value_or(1.0),
                                  .threads = loader_threads(values_),
                                  .latents = latents_.get(),
                                  .notes = &notes_});
  while (loader.has_next() && !is_finished()) {
    guarded(epoch, [&] { one_step(loader, epoch); });
    queue_->pause_while_waiting();
    if (telemetry_) telemetry_->pause_while_hot({.step = at_.step, .total = plan_.max_train_steps}, stop_);
    stop_if_asked(epoch);
    if (validation_->is_due_at_step(at_.step)) guarded(epoch, [&] { validate(epoch, false); });
    stop_if_asked(epoch);  // a resumed run measures anew
    save_and_preview(epoch, false);
    stop_if_asked(epoch);
  }
  log_->epoch_end(epoch);
  if (validation_->is_due_at_epoch_end(epoch)) guarded(epoch, [&] { validate(epoch, true); });
  stop_if_asked(epoch);
  // A state of this moment goes on with the next epoch, unless the run has ended within this one.
  if (!loader.has_next()) {
    at_.epoch = epoch + 1;
    at_.batches = 0;
    at_.epoch_first_step = at_.step;
  }
  at_.is_epoch_over = true;
  save_and_preview(epoch, true);
  stop_if_asked(epoch + 1);
}

void TrainingRun::validate(int64_t epoch, bool is_epoch_end) {
  const bool is_new = validation_->losses().empty() || validation_->losses().back().step != at_.step;
  const EvaluationScope evaluation(*optimizer_, parameters_, ema_.get());
  set_->set_step({});
  const auto progress = [&](int64_t done, int64_t total) {
    events_.progress({.phase = "validate", .step = done, .total = total});
  };
  const std::optional<double> loss = validation_->measure(
      at_.step, {*inputs_, *training_step_, latents_.get(), loader_threads(values_), progress, &stop_});
  if (!loss) return;  // a signal came
  log_->validation({.step = at_.step, .epoch = epoch, .is_epoch_end = is_epoch_end, .loss = *loss});
  // The end of an epoch at a step that was measured already: known, and told.
  if (!is_new) return;
  const Verdict verdict = validation_->verdict();
  const SavedFile nearest = saver_->nearest(verdict.best_step);
  events_.log("Validation at step " + std::to_string(at_.step) + ": loss " + std::to_string(*loss) +
              " (training average " + std::to_string(log_->average()) + "), " +
              to_text(verdict, nearest.name, nearest.step) + ".");
}

void TrainingRun::go_to(int64_t step) {
  if (step >= plan_.max_train_steps) {
    throw base::Error(base::ErrorCode::Config, "the run would start at step " + std::to_string(step) +
                                                   " and ends at step " + std::to_string(plan_.max_train_steps) +
                                                   ": raise max_train_steps or lower initial_step");
  }
  const int64_t epochs = step / plan_.steps_per_epoch;
  at_ = {.step = step,
         .scheduled_steps = step,
         .epoch = epochs + 1,
         .batches = (step - epochs * plan_.steps_per_epoch) * accumulation_,
         .epoch_first_step = epochs * plan_.steps_per_epoch};
  at_.micro_step = epochs * plan_.batches_per_process + at_.batches;
}

void TrainingRun::load_foreign() {
  const auto file = formats::Checkpoint::open(foreign_->weights);
  tensor::check_finite_file(*file, values_.flag("allow_nonfinite"), events_);
  const adapters::LoadReport report = set_->load(*file);
  events_.warning(foreign_->weights.parent_path().string() + " is a state of sd-scripts: " +
                  std::to_string(report.loaded) + " layers are taken from it; the optimizer's moments begin anew");
  for (const std::string& key : report.unmatched) events_.warning(key + " of that state fits no layer and is not used");
}

void TrainingRun::go_to_start() {
  data_hash_ = data_fingerprint(datasets_);
  picture_hashes_ = picture_hashes(datasets_);
  for (const std::filesystem::path& left : base::remove_leftovers(saver_->folder()))
    events_.log("Removed " + left.filename().string() + ", a save that a killed run could not end.");
  if (resumed_) {
    try {
      restore_state(*resumed_, stateful_parts());
    } catch (const base::Error& error) {
      throw base::Error(error.code(), error.message() + changes_text(*resumed_, identity()));
    }
    const bool is_same_data = explain_changes(*resumed_, identity(), events_);
    at_ = resumed_->position;
    if (!is_same_data) at_.batches = 0;
    if (at_.is_vae_float && !base_.is_vae_float && !latents_) {
      base_.is_vae_float = true;
      base_.model->vae().to(at::kFloat);
    }
    events_.resumed(resumed_->folder, at_.step, at_.epoch);
    events_.log("Going on from " + resumed_->folder.string() + ": step " + std::to_string(at_.step) + ", epoch " +
                std::to_string(at_.epoch) + ".");
  } else if (foreign_ && foreign_->step.value_or(0) > 0) {
    go_to(*foreign_->step);
  }
  if (const auto step = values_.maybe_integer("initial_step")) {
    go_to(*step);
  } else if (const auto epoch = values_.maybe_integer("initial_epoch")) {
    go_to((*epoch - 1) * plan_.steps_per_epoch);
  }
}

void TrainingRun::watch_steps() {
  const double least_s = values_.maybe_number("step_timeout").value_or(HangOptions().least_s);
  if (least_s <= 0.0) return;
  watchdog_ = std::make_unique<HangWatchdog>(HangOptions{.least_s = least_s}, [this](const Hang& hang) {
    for (const std::string& frame : hang.stack) std::cerr << "  " << frame << "\n";
    const bool is_device = base_.device.type() != at::kCPU;
    events_.error(base::Error(is_device ? base::ErrorCode::Device : base::ErrorCode::Internal,
                              to_text(hang) +
                                  ". The run is ended, since nothing can be waited for any more; where the "
                                  "step was stands in engine.log. " +
                                  latest_text() + " --step_timeout sets the time."));
    // The hanging thread cannot be ended in another way; what is being written has no final name yet.
    std::_Exit(base::exit_status(is_device ? base::ErrorCode::Device : base::ErrorCode::Internal));
  });
}

void TrainingRun::run() {
  telemetry_ = RunTelemetry::from(values_, base_.device, events_);
  fill_caches();
  go_to_start();
  first_step_ = at_.step;
  watch_steps();
  profiled_ = {values_.maybe_integer("profile_steps").value_or(0), values_.maybe_text(kRunFolder).value_or("")};
  events_.phase("Training");
  const bool is_over = is_finished();
  const bool is_kept = is_over && resumed_ && is_written_later(saver_->path_of(saves_->final_stem()), resumed_->folder);
  if (is_over) {
    events_.log("All " + std::to_string(plan_.max_train_steps) + " steps are done already" +
                (is_kept ? ", and " + saver_->path_of(saves_->final_stem()).string() +
                               ", which was written after their state, is left as it is"
                         : "") +
                ". To train on: a higher max_train_steps, or train_more_steps.");
  }
  if (at_.step == 0) preview({.is_start = true});
  if (stop_.load() && !is_finished()) {
    throw base::Error(base::ErrorCode::Cancelled,
                      "stopped before the first step, so that nothing new was trained. " + settled_text());
  }
  if (resumed_ && !is_done()) complete_save();
  // By steps alone: a resumed run may have other pictures or another accumulation, and so another number of epochs.
  for (int64_t epoch = at_.epoch; !is_done(); ++epoch) run_epoch(epoch);
  // A resumed run saves its last state in any case, so that resuming it once more says that it is done.
  if (!is_kept) {
    save({.stem = saves_->final_stem()}, std::max(plan_.epochs, at_.epoch - 1),
         values_.flag("save_state") || values_.flag("save_state_on_train_end") || resumed_.has_value());
  }
  queue_->finish();
  log_->flush();
  std::map<std::string, base::EventValue> result = {{"output", saver_->path_of(saves_->final_stem()).string()},
                                                    {"steps", at_.step},
                                                    {"loss", log_->average()},
                                                    {"saves", save_count_},
                                                    {"save_pause_s", save_pause_s_}};
  add_validation(*validation_, *saver_, result);
  memory_.phase_done("training");
  const MemoryUse use = memory_use(base_, parameters_, *optimizer_);
  events_.log(memory_.text(use));
  memory_.add_to(result, use);
  events_.result(result);
}

}  // namespace cinnabar::train
