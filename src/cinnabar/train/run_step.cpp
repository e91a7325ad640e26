// One optimizer step of a run: backward of its batches, the update, and what happens when numbers or memory run out.
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"
#include "cinnabar/base/fault_point.h"
#include "cinnabar/tensor/accelerator.h"
#include "cinnabar/tensor/memory_error.h"
#include "cinnabar/train/finite_check.h"
#include "cinnabar/train/last_word.h"
#include "cinnabar/train/micro_batch.h"
#include "cinnabar/train/network_source.h"
#include "cinnabar/train/run_optimizer.h"
#include "cinnabar/train/training_run.h"

namespace cinnabar::train {

namespace {

// What `work` ran out of memory with, or "". The exception is gone when this returns, and with it what it kept alive.
template <class Work>
std::string memory_problem(const Work& work) {
  try {
    work();
    return {};
  } catch (const std::exception& error) {
    if (!tensor::is_out_of_memory(error)) throw;
    return base::first_line(error.what());
  }
}

}  // namespace

// Backward of one batch, in parts of micro_batch_ where that is smaller. Parts whose loss is not finite are left out.
void TrainingRun::micro_step(const data::LoadedBatch& batch, int64_t epoch, StepSum& sum) {
  const size_t count = batch.plan.items.size();
  const size_t size = micro_batch_ == 0 ? count : std::min(micro_batch_, count);
  double mean = 0.0;
  for (size_t first = 0; first < count; first += size) {
    const size_t here = std::min(size, count - first);
    const data::LoadedBatch part = here == count ? batch : part_of(batch, first, here);
    adapters::StepContext context{.is_training = true, .seed = seed_, .step = static_cast<uint64_t>(at_.micro_step)};
    for (const data::BatchItem& item : part.plan.items) context.samples.push_back(item.item);
    set_->set_step(context);
    profiled_.phase("forward");
    base::fault_point("step.forward");
    const StepLoss loss = training_step_->run(inputs_->of(part, {.seed = seed_, .step = static_cast<uint64_t>(epoch)}));
    const double share = static_cast<double>(here) / static_cast<double>(count);
    double value = loss.mean.item<double>();
    if (base::fault_point("step.loss")) value = std::numeric_limits<double>::quiet_NaN();
    mean += value * share;
    if (!std::isfinite(value)) {
      report_bad_loss(part);
      continue;
    }
    const at::Tensor scaled = loss.mean / static_cast<double>(accumulation_);
    profiled_.phase("backward");
    base::fault_point("step.backward");
    scaler_.scaled(here == count ? scaled : scaled * share).backward();
    sum.has_gradient = true;
  }
  sum.loss += std::isfinite(mean) ? mean : 0.0;
  ++sum.batches;
  ++at_.micro_step;
  ++at_.batches;
}

void TrainingRun::report_bad_loss(const data::LoadedBatch& part) {
  const std::string name = first_bad_value(parameters_);
  if (!name.empty()) stop_diverged("the weights of " + name + " are not finite any more");
  std::string names;
  const data::Dataset& dataset = datasets_.at(part.plan.dataset);
  for (const data::BatchItem& item : part.plan.items)
    names += " " + dataset.samples.at(item.sample).path.filename().string();
  events_.warning("The loss of a batch is not finite and it is left out:" + names);
}

void TrainingRun::add_gradients(data::Loader& loader, std::vector<data::LoadedBatch>& batches, int64_t epoch,
                                StepSum& sum) {
  for (size_t done = 0;; ++done) {
    if (done == batches.size()) {
      if (static_cast<int64_t>(done) == accumulation_ || !loader.has_next()) return;
      profiled_.phase("waiting for the batch");
      batches.push_back(loader.next());
    }
    if (done > 0) limit_norms(values_, *set_, parameters_);
    micro_step(batches[done], epoch, sum);
  }
}

void TrainingRun::one_step(data::Loader& loader, int64_t epoch) {
  const StepWatch watch(watchdog_.get(), at_.step + 1);
  watch.phase("loading, forward and backward");
  const RunPosition begin = at_;
  std::vector<data::LoadedBatch> batches;
  StepSum sum;
  for (bool is_second = false;; is_second = true) {
    const std::string problem = memory_problem([&] { add_gradients(loader, batches, epoch, sum); });
    if (problem.empty()) break;
    at_ = begin;
    sum = {};
    parameters_.zero_gradients();
    tensor::release_cached_memory(base_.device);
    make_room(problem, batches, is_second, epoch);
  }
  watch.phase("the optimizer");
  profiled_.phase("optimizer");
  is_updating_ = true;
  optimizer_step(epoch, sum);
  at_.is_epoch_over = false;
  is_updating_ = false;
  for (const std::string& line : profiled_.step_done()) events_.log(line);
  // What was computed in parts once stays so: the memory did not grow.
}

void TrainingRun::make_room(const std::string& problem, const std::vector<data::LoadedBatch>& batches, bool is_second,
                            int64_t epoch) {
  const std::string step = std::to_string(at_.step + 1);
  size_t largest = 0;
  for (const data::LoadedBatch& batch : batches) largest = std::max(largest, batch.plan.items.size());
  const size_t now = micro_batch_ == 0 ? largest : std::min(micro_batch_, largest);
  if (values_.maybe_text("oom").value_or("split") == "stop" || (is_second && now <= 1))
    stop_without_memory(problem, epoch);
  if (!is_second) {
    events_.warning("Memory ran out in step " + step + " (" + problem + "); it is tried once more");
    return;
  }
  micro_batch_ = (now + 1) / 2;
  events_.warning("Memory ran out in step " + step + " (" + problem +
                  "): from here on batches are computed in parts of " + std::to_string(micro_batch_) +
                  ". Pictures, noise and steps stay the same; sums differ in their last digits. --micro_batch_size " +
                  std::to_string(micro_batch_) + " does so from the start");
}

void TrainingRun::stop_without_memory(const std::string& problem, int64_t epoch) {
  const std::string text = "memory ran out in step " + std::to_string(at_.step + 1) + ": " + problem +
                           ". Less memory, most effective first: --gradient_checkpointing, --micro_batch_size 1, "
                           "--mixed_precision bf16, --cache_latents, a smaller --resolution. ";
  std::string saved;
  const std::string failure = memory_problem([&] {
    if (at_.step > first_step_) saved = save_here(epoch) + ", with what needs less";
  });
  throw LastWord(base::ErrorCode::OutOfMemory, text + (saved.empty() ? settled_text() : saved) +
                                                   (failure.empty() ? "" : " (saving now failed, too)"));
}

void TrainingRun::stop_diverged(const std::string& what) {
  throw LastWord(base::ErrorCode::Data, "the training has diverged: " + what + "; lower the learning rate" +
                                            (scaler_.is_on() ? ", or use --mixed_precision bf16 or no" : "") + ". " +
                                            settled_text());
}

void TrainingRun::optimizer_step(int64_t epoch, const StepSum& sum) {
  parameters_.collect_gradients();
  if (base::fault_point("step.gradient")) {
    for (const optim::ParameterGroup& group : parameters_.groups())
      group.gradients[0].fill_(std::numeric_limits<double>::quiet_NaN());
  }
  scaler_.unscale(parameters_);
  const double norm = parameters_.clip_gradients(max_grad_norm_).item<double>();
  StepReport report{.epoch = epoch, .loss = sum.loss / static_cast<double>(sum.batches), .grad_norm = norm};
  std::vector<double> rates;
  for (const optim::ParameterGroup& group : parameters_.groups()) {
    rates.push_back(rates_(at_.scheduled_steps, group.lr));
  }
  const bool is_finite = std::isfinite(norm);
  const bool is_made = is_finite && sum.has_gradient;
  if (is_made) {
    optimizer_->step(rates);
    parameters_.store_values();
  }
  if (base::fault_point("step.weight")) {
    for (const optim::ParameterGroup& group : parameters_.groups())
      group.values[0].fill_(std::numeric_limits<double>::quiet_NaN());
  }
  report_rates(*optimizer_, parameters_, rates, report);
  count_bad_step(is_finite, sum.has_gradient);
  // An overflow of the loss scale skips the schedule, too; the step counts all the same.
  if (is_made || !scaler_.is_on()) ++at_.scheduled_steps;
  if (sum.has_gradient) scaler_.update(!is_finite);
  parameters_.zero_gradients();
  if (const auto norms = limit_norms(values_, *set_, parameters_)) {
    report.more.emplace_back("max_norm/keys_scaled", static_cast<double>(norms->scaled));
    report.more.emplace_back("max_norm/max_key_norm", norms->largest);
    report.more.emplace_back("norm/avg_key_norm", norms->average);
  }
  if (ema_ && is_made) ema_->after_step(at_.step + 1);
  if (telemetry_) telemetry_->add_records(report.more);
  report.memory_bytes = tensor::used_memory(base_.device);
  report.step = ++at_.step;
  log_->step(report);
}

// A step is bad when nothing of it could be trained: no batch had a finite loss, or the gradient was not finite without
// the loss scale being the cause.
void TrainingRun::count_bad_step(bool is_finite, bool has_gradient) {
  if (is_finite && has_gradient) {
    at_.bad_losses = 0;
    return;
  }
  const std::string step = std::to_string(at_.step + 1);
  if (!is_finite && scaler_.is_on() && scaler_.scale() > 1.0) {
    // Ordinary at the start of a run, while the scale finds its place.
    events_.log("Step " + step + ": the gradient left the range of fp16; the step is left out and the loss scale of " +
                std::to_string(static_cast<int64_t>(scaler_.scale())) + " is halved.");
    return;
  }
  if (!is_finite) {
    const std::string name = first_bad_gradient(parameters_);
    events_.warning("The gradient of step " + step + " is not finite" +
                    (name.empty() ? "" : " (first in " + name + ")") +
                    (scaler_.is_on() ? " even with a loss scale of " + std::to_string(scaler_.scale()) : "") +
                    "; the step is left out." + (scaler_.is_on() ? " --mixed_precision bf16 has more range." : ""));
  }
  const int64_t most = values_.maybe_integer("stop_after_bad_steps").value_or(3);
  if (++at_.bad_losses < most) return;
  stop_diverged("loss or gradient were not finite in " + std::to_string(most) + " steps in succession");
}

}  // namespace cinnabar::train
