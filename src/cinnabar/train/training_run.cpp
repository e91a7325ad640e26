#include "cinnabar/train/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "cinnabar/base/error.h"
#include "cinnabar/data/batch_plan.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/train/run_caches.h"
#include "cinnabar/train/run_data.h"

namespace cinnabar::train {

namespace {

constexpr int64_t kMostBadLosses = 10;

// What the text in preview pictures says about the model; the network under training has no file yet.
sample::PictureFacts picture_facts(const schema::Values& values, const std::string& model_hash) {
  const std::filesystem::path path = values.text("pretrained_model_name_or_path");
  sample::PictureFacts facts;
  facts.model_name = path.stem().string();
  facts.model_hash = model_hash.substr(0, 10);
  facts.clip_skip = values.maybe_integer("clip_skip").value_or(1);
  return facts;
}

}  // namespace

TrainingRun::TrainingRun(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop)
    : values_(values), events_(events), stop_(stop) {
  if (const int64_t threads = values.maybe_integer("threads").value_or(0); threads > 0) {
    at::set_num_threads(static_cast<int>(threads));
  }
  if (const auto seed = values.maybe_integer("seed")) {
    seed_ = static_cast<uint64_t>(*seed);
  } else {
    // Recorded, so that the run can be repeated.
    seed_ = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) & 0xFFFFFFFFU;
    values_.set("seed", static_cast<int64_t>(seed_));
    events.log("seed was not given; this run uses " + std::to_string(seed_) + ".");
  }
  accumulation_ = values.maybe_integer("gradient_accumulation_steps").value_or(1);
  max_grad_norm_ = values.maybe_number("max_grad_norm").value_or(1.0);
  read_data();
  base_ = load_run_model(values_, events);
  attach_adapters();
  make_optimizer();
  training_step_ = std::make_unique<TrainingStep>(*base_.model, values_);
  training_step_->to(base_.device);
  noise_ = std::make_unique<noise::NoiseSource>(values_, training_step_->table().steps());
  previews_ =
      std::make_unique<sample::Previews>(values_, base_.model->info(), picture_facts(values_, base_.hash), events);
  make_saver();
  log_ = std::make_unique<TrainingLog>(values_, LogPlan{plan_.max_train_steps, plan_.epochs, plan_.steps_per_epoch},
                                       events);
}

void TrainingRun::read_data() {
  events_.phase("Reading the data set");
  datasets_ = scan_run_data(values_, events_);
  plan_ = plan::plan_steps({.batches_per_epoch = data::batch_count(datasets_),
                            .gradient_accumulation_steps = accumulation_,
                            .max_train_steps = values_.maybe_integer("max_train_steps").value_or(1600),
                            .max_train_epochs = values_.maybe_integer("max_train_epochs")});
  events_.log("Training " + std::to_string(plan_.max_train_steps) + " steps in " + std::to_string(plan_.epochs) +
              " epochs of " + std::to_string(plan_.batches_per_process) + " batches.");
}

void TrainingRun::attach_adapters() {
  adapters::AdapterOptions options = adapters::adapter_options(values_);
  options.seed = seed_;
  set_ =
      std::make_unique<adapters::AdapterSet>(values_.text("network_module"), base_.model->adapter_targets(), options);
  if (const auto path = values_.maybe_text("network_weights")) {
    const auto file = formats::Checkpoint::open(*path);
    const adapters::LoadReport report = set_->load(*file);
    events_.log("Loaded " + std::to_string(report.loaded) + " layers from " + *path + ".");
    for (const std::string& key : report.unmatched)
      events_.warning(*path + ": " + key + " fits no layer of this network and is not used");
  }
  for (const models::ModelPart& part : base_.model->parts()) {
    part.module->train(true);
    part.module->set_checkpointing(values_.flag("gradient_checkpointing"));
  }
}

void TrainingRun::make_optimizer() {
  const double rate = values_.maybe_number("learning_rate").value_or(2e-6);
  const adapters::PartRates rates{values_.maybe_number("unet_lr").value_or(rate),
                                  values_.maybe_number("text_encoder_lr").value_or(rate)};
  const models::TextOptions text{.clip_skip = values_.maybe_integer("clip_skip").value_or(0)};
  set_->freeze([&](const models::AdapterTarget& target) { return !base_.model->uses(target, text); });
  int64_t count = 0;
  for (const adapters::ParameterGroup& group : set_->parameter_groups(rates)) {
    optim::NamedTensors named;
    for (const adapters::NamedParameter& parameter : group.parameters) {
      named.emplace_back(parameter.name, *parameter.value);
      is_text_trained_ = is_text_trained_ || parameter.part != "unet";
    }
    parameters_.add_group(group.label, group.lr, named);
  }
  count = parameters_.parameter_count();
  if (count == 0) {
    throw base::Error(
        base::ErrorCode::Config,
        "nothing would be trained: every learning rate is 0; set learning_rate, unet_lr or text_encoder_lr");
  }
  events_.log("Training " + std::to_string(count) + " parameters in " + std::to_string(set_->size()) + " layers.");
  optimizer_ = optim::make_optimizer(values_.maybe_text("optimizer_type").value_or(""), values_.texts("optimizer_args"),
                                     parameters_);
  schedule_ = lr::schedule_from(values_, plan_.max_train_steps);
}

void TrainingRun::make_saver() {
  adapters::TrainingFacts facts;
  const models::ModelInfo& info = base_.model->info();
  facts.session_id = static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  facts.started_at_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  facts.base_model_version = info.base_model_version;
  facts.modelspec_architecture = info.modelspec_architecture;
  facts.modelspec_implementation = info.modelspec_implementation;
  facts.optimizer_class =
      optim::entries().at(optim::entry_name(values_.maybe_text("optimizer_type").value_or(""))).reference_class;
  facts.is_velocity = info.objective == models::Objective::Velocity;
  facts.batches_per_epoch = data::batch_count(datasets_);
  facts.epochs = plan_.epochs;
  facts.max_train_steps = plan_.max_train_steps;
  for (const data::Dataset& dataset : datasets_) facts.datasets.push_back(facts_of(dataset));
  saver_ = std::make_unique<Saver>(*set_, std::move(facts), values_, events_);
  plan::SaveOptions options;
  options.output_name = values_.maybe_text("output_name");
  options.save_every_n_epochs = values_.maybe_integer("save_every_n_epochs");
  options.save_every_n_steps = values_.maybe_integer("save_every_n_steps");
  options.save_n_epoch_ratio = values_.maybe_integer("save_n_epoch_ratio");
  options.save_last_n_epochs = values_.maybe_integer("save_last_n_epochs");
  options.save_last_n_steps = values_.maybe_integer("save_last_n_steps");
  saves_ = std::make_unique<plan::SavePlan>(options, plan_.epochs);
}

void TrainingRun::fill_caches() {
  const CacheRequest request{values_, datasets_, base_, events_, stop_};
  latents_ = cached_latents(request);
  if (latents_ && !previews_->is_on()) base_.model->release("vae");
  text_ = cached_text(request, is_text_trained_);
}

at::Tensor TrainingRun::latents_of(const data::LoadedBatch& batch, int64_t epoch) const {
  const at::NoGradGuard no_grad;
  const at::Tensor moments = batch.moments.defined()
                                 ? batch.moments.to(base_.device)
                                 : base_.model->encode_moments(batch.pixels.to(base_.device)).to(at::kFloat);
  const auto halves = moments.chunk(2, 1);
  std::vector<at::Tensor> noise;
  for (const data::BatchItem& item : batch.plan.items) {
    base::RandomStream random(seed_, base::Purpose::LatentSample, static_cast<uint64_t>(epoch), item.item);
    noise.push_back(noise::normal_tensor(random, halves[0].sizes().slice(1)));
  }
  return training_step_->scaled(halves[0] + (halves[1] * 0.5).exp() * at::stack(noise).to(base_.device));
}

double TrainingRun::micro_step(const data::LoadedBatch& batch, int64_t epoch) {
  std::vector<noise::SampleKey> keys;
  adapters::StepContext context{.is_training = true, .seed = seed_, .step = static_cast<uint64_t>(micro_step_)};
  for (const data::BatchItem& item : batch.plan.items) {
    keys.push_back({seed_, static_cast<uint64_t>(epoch), item.item});
    context.samples.push_back(item.item);
  }
  set_->set_step(context);
  StepInputs inputs;
  inputs.latents = latents_of(batch, epoch);
  const noise::BatchNoise draw = noise_->draw(inputs.latents, keys);
  inputs.noise = draw.noise;
  inputs.input_noise = draw.input_noise;
  inputs.timesteps = draw.timesteps.to(base_.device);
  inputs.conditioning = text_->of(batch.captions);
  inputs.conditioning.context = inputs.conditioning.context.to(base_.device);
  inputs.loss_weights = batch.loss_weights.to(base_.device);
  const StepLoss loss = training_step_->run(inputs);
  const double value = loss.mean.item<double>();
  if (std::isfinite(value)) {
    bad_losses_ = 0;
    (loss.mean / static_cast<double>(accumulation_)).backward();
    return value;
  }
  std::string names;
  const data::Dataset& dataset = datasets_.at(batch.plan.dataset);
  for (const data::BatchItem& item : batch.plan.items)
    names += " " + dataset.samples.at(item.sample).path.filename().string();
  events_.warning("The loss of a batch is not finite and it is left out:" + names);
  if (++bad_losses_ >= kMostBadLosses) {
    throw base::Error(
        base::ErrorCode::Data,
        "the loss was not finite in " + std::to_string(kMostBadLosses) +
            " batches in succession; the last saved file is the latest good one. Lower the learning rate, "
            "or use --no_half_vae or --mixed_precision no");
  }
  return value;
}

void TrainingRun::optimizer_step(int64_t epoch, double loss) {
  const double norm = parameters_.clip_gradients(max_grad_norm_).item<double>();
  StepReport report{.epoch = epoch, .loss = loss, .grad_norm = norm};
  std::vector<double> rates;
  for (const optim::ParameterGroup& group : parameters_.groups()) {
    rates.push_back(group.lr * schedule_(step_));
    report.rates.emplace_back(group.name, rates.back());
  }
  if (std::isfinite(norm)) {
    optimizer_->step(rates);
  } else {
    events_.warning("The gradient of step " + std::to_string(step_ + 1) + " is not finite; the step is left out.");
  }
  parameters_.zero_gradients();
  report.step = ++step_;
  log_->step(report);
}

void TrainingRun::run_epoch(int64_t epoch) {
  const int64_t steps_before = step_;
  data::Loader loader(datasets_, {.seed = seed_,
                                  .epoch = static_cast<uint64_t>(epoch),
                                  .steps_before = steps_before,
                                  .accumulation = accumulation_,
                                  .max_train_steps = plan_.max_train_steps,
                                  .prior_loss_weight = values_.maybe_number("prior_loss_weight").value_or(1.0),
                                  .threads = loader_threads(values_),
                                  .latents = latents_.get()});
  double loss_sum = 0.0;
  int64_t gathered = 0;
  while (loader.has_next() && !is_finished()) {
    const double loss = micro_step(loader.next(), epoch);
    loss_sum += std::isfinite(loss) ? loss : 0.0;
    ++micro_step_;
    if (++gathered < accumulation_ && loader.has_next()) continue;
    optimizer_step(epoch, loss_sum / static_cast<double>(gathered));
    loss_sum = 0.0;
    gathered = 0;
    if (stop_.load() && !is_finished()) stop_here(epoch);
    save_and_preview(epoch, false);
  }
  log_->epoch_end(epoch);
  save_and_preview(epoch, true);
}

void TrainingRun::save_and_preview(int64_t epoch, bool is_epoch_end) {
  const auto save = is_epoch_end ? saves_->at_epoch_end(epoch) : saves_->at_step(step_);
  if (save) {
    saver_->save(save->stem, {step_, is_epoch_end ? epoch : epoch - 1});
    if (!save->removed_stem.empty()) saver_->remove(save->removed_stem);
  }
  preview({.step = step_, .epoch = is_epoch_end ? epoch : epoch - 1, .is_epoch_end = is_epoch_end});
}

void TrainingRun::preview(const sample::PreviewPoint& point) {
  if (!previews_->due(point)) return;
  set_->set_step({});
  previews_->run(*base_.model, point, events_, stop_);
}

void TrainingRun::stop_here(int64_t epoch) {
  const std::string digits = std::to_string(step_);
  const std::string stem =
      saves_->final_stem() + "-step" + std::string(8 - std::min<size_t>(8, digits.size()), '0') + digits;
  const std::filesystem::path path = saver_->save(stem, {step_, epoch - 1});
  log_->flush();
  throw base::Error(base::ErrorCode::Cancelled, "stopped after step " + std::to_string(step_) + " of " +
                                                    std::to_string(plan_.max_train_steps) + "; saved " + path.string());
}

void TrainingRun::run() {
  fill_caches();
  events_.phase("Training");
  preview({.is_start = true});
  for (int64_t epoch = 1; epoch <= plan_.epochs && !is_finished(); ++epoch) run_epoch(epoch);
  const std::filesystem::path path = saver_->save(saves_->final_stem(), {step_, plan_.epochs});
  log_->flush();
  events_.result({{"output", path.string()}, {"steps", step_}, {"loss", log_->average()}});
}

}  // namespace cinnabar::train
