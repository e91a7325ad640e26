#include "cinnabar/train/run_state.h"

#include <chrono>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/tensor/finite_file.h"
#include "cinnabar/train/lineage.h"
#include "cinnabar/train/state_fields.h"

namespace cinnabar::train {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kStateFile = "state.json";
constexpr const char* kParametersFile = "parameters.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kEmaFile = "ema.safetensors";

optim::NamedTensors copies(const optim::NamedTensors& tensors) {
  optim::NamedTensors result;
  for (const auto& [name, tensor] : tensors)
    result.emplace_back(name, tensor.detach().to(at::kCPU, tensor.scalar_type(), false, true).contiguous());
  return result;
}

void write_tensors(const fs::path& path, const optim::NamedTensors& tensors) {
  std::vector<formats::NamedTensor> views;
  for (const auto& [name, tensor] : tensors) views.push_back({name, tensor::view_of(tensor)});
  formats::write_safetensors(path, std::move(views), {});
}

optim::NamedTensors read_tensors(const fs::path& path) {
  const auto file = formats::Checkpoint::open(path);
  optim::NamedTensors result;
  for (const auto& [name, view] : file->tensors()) {
    if (!tensor::is_finite(view)) {
      throw base::Error(base::ErrorCode::Format, path.string() + ": " + name +
                                                     " holds NaN or infinite values, so the training had diverged when "
                                                     "it was saved: resume from the state before, with a lower "
                                                     "learning_rate");
    }
    result.emplace_back(name, tensor::copy(view));
  }
  file->check();
  return result;
}

int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// JSON has no word for NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const RunPosition& position) {
  return {{"step", position.step},
          {"scheduled_steps", position.scheduled_steps},
          {"micro_step", position.micro_step},
          {"epoch", position.epoch},
          {"batches", position.batches},
          {"epoch_first_step", position.epoch_first_step},
          {"bad_losses", position.bad_losses},
          {"is_vae_float", position.is_vae_float},
          {"is_epoch_over", position.is_epoch_over}};
}

RunPosition position_from(const StateFields& fields, const Json& json) {
  RunPosition position;
  position.step = fields.count("step");
  position.scheduled_steps = fields.count("scheduled_steps");
  position.micro_step = fields.count("micro_step");
  position.epoch = fields.count("epoch");
  position.batches = fields.count("batches");
  position.epoch_first_step = fields.count("epoch_first_step");
  position.bad_losses = fields.count("bad_losses");
  const Json is_vae_float = json.value("is_vae_float", Json(false));
  if (position.epoch < 1) fields.refuse("epoch", position.epoch, "an epoch from 1 on");
  if (position.scheduled_steps > position.step) {
    fields.refuse("scheduled_steps", position.scheduled_steps, "at most the steps, " + std::to_string(position.step));
  }
  if (position.epoch_first_step > position.step) {
    fields.refuse("epoch_first_step", position.epoch_first_step, "at most the steps, " + std::to_string(position.step));
  }
  if (!is_vae_float.is_boolean()) fields.refuse("is_vae_float", is_vae_float, "true or false");
  position.is_vae_float = is_vae_float.get<bool>();
  const Json is_epoch_over = json.value("is_epoch_over", Json(true));  // earlier versions do not say
  if (!is_epoch_over.is_boolean()) fields.refuse("is_epoch_over", is_epoch_over, "true or false");
  position.is_epoch_over = is_epoch_over.get<bool>();
  return position;
}

RunPosition position_from(const Json& state, const fs::path& file) {
  const StateFields fields = StateFields(state, file).below("position");
  return position_from(fields, state.at("position"));
}

Json parse_state(const fs::path& folder) {
  const fs::path path = folder / kStateFile;
  Json json = Json::parse(base::read_file(path, size_t{64} << 20), nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  throw base::Error(base::ErrorCode::Format,
                    path.string() + " is not a JSON object, as it was written: resume from the state before");
}

// Values by name into tensors of the same names. All checks before the first copy.
void copy_into(const optim::NamedTensors& targets, const optim::NamedTensors& saved, const std::string& what) {
  std::map<std::string, at::Tensor> by_name(saved.begin(), saved.end());
  std::string wrong;
  for (const auto& [name, target] : targets) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      wrong = name + " is not in the state";
    } else if (found->second.sizes() != target.sizes()) {
      wrong = name + " has another shape there";
    }
    if (!wrong.empty()) break;
  }
  if (wrong.empty() && by_name.size() != targets.size()) {
    wrong = "the state holds " + std::to_string(by_name.size()) + " tensors, this run has " +
            std::to_string(targets.size());
  }
  if (!wrong.empty()) {
    throw base::Error(base::ErrorCode::Config,
                      "the saved " + what + " do not fit this run: " + wrong +
                          ". Resume with the network options of the run that saved it, or start anew from its file "
                          "with network_weights");
  }
  const at::NoGradGuard no_grad;
  for (const auto& [name, target] : targets) {
    at::Tensor to = target;
    to.copy_(by_name.at(name));
  }
}

struct LossScale {
  double scale = 1.0;
  int64_t good_steps = 0;
};

LossScale loss_scale_from(const StateFields& fields) {
  const StateFields own = fields.below("loss_scale");
  const LossScale scale{own.number("scale"), own.count("good_steps")};
  if (!(std::isfinite(scale.scale) && scale.scale > 0.0)) own.refuse("scale", scale.scale, "a number above 0");
  return scale;
}

LogState log_from(const StateFields& fields) {
  const StateFields own = fields.below("loss_window");
  LogState log{.position = static_cast<size_t>(own.count("position"))};
  for (const Json& loss : own.list("values")) log.window.push_back(own.number_of(loss, "values"));
  if (log.position > log.window.size())
    own.refuse("position", log.position, "at most the number of values, " + std::to_string(log.window.size()));
  return log;
}

std::vector<ValidationLoss> losses_from(const StateFields& fields) {
  std::vector<ValidationLoss> losses;
  for (const Json& one : fields.list("validation")) {
    if (!one.is_array() || one.size() != 2) fields.refuse("validation", one, "pairs of a step and a loss");
    losses.push_back({.step = fields.count_of(one[0], "validation"), .loss = fields.number_of(one[1], "validation")});
  }
  return losses;
}

std::vector<std::string> runs_from(const StateFields& fields, const Json& json) {
  std::vector<std::string> runs;
  if (!json.contains("runs")) return runs;
  for (const Json& run : fields.list("runs")) {
    if (!run.is_string()) fields.refuse("runs", run, "ids of runs");
    runs.push_back(run.get<std::string>());
  }
  return runs;
}

// What restore_state reads, so that a damaged state is refused before the model is loaded.
void check_rest(const StateFields& fields) {
  (void)fields.count("ema_updates");
  (void)loss_scale_from(fields);
  (void)log_from(fields);
  (void)losses_from(fields);
  (void)fields.counts("saved_files");
}

}  // namespace

StateSnapshot take_snapshot(const StatefulParts& parts, const RunPosition& position, const RunIdentity& identity) {
  StateSnapshot snapshot;
  snapshot.position = position;
  snapshot.parameters = copies(parts.parameters.values());
  snapshot.optimizer = copies(parts.optimizer.state());
  if (parts.ema != nullptr) snapshot.ema = copies(parts.ema->state());
  Json validation = Json::array();
  for (const ValidationLoss& one : parts.validation.losses()) validation.push_back({one.step, number(one.loss)});
  const LogState log = parts.log.state();
  Json window = Json::array();
  for (const double loss : log.window) window.push_back(number(loss));
  const Json json{
      {"program_version", CINNABAR_VERSION},
      {"lineage", identity.lineage},
      {"runs", identity.runs},
      {"saved_ms", now_ms()},
      {"position", to_json(position)},
      {"seed", identity.seed},
      {"model_hash", identity.model_hash},
      {"data_hash", identity.data_hash},
      {"pictures_hash", identity.pictures_hash},
      {"picture_times", identity.picture_times},
      {"max_train_steps", identity.max_train_steps},
      {"batches_per_epoch", identity.batches_per_epoch},
      {"options", identity.options},
      {"loss_scale", {{"scale", parts.scaler.state().scale}, {"good_steps", parts.scaler.state().good_steps}}},
      {"ema_updates", parts.ema != nullptr ? parts.ema->updates() : 0},
      {"loss_window", {{"values", window}, {"position", log.position}}},
      {"validation", validation},
      {"saved_files", parts.saved_files}};
  snapshot.json = json.dump(1) + "\n";
  return snapshot;
}

void write_state(const fs::path& folder, const StateSnapshot& snapshot) {
  base::FolderWriter writer(folder);
  write_tensors(writer.file(kParametersFile), snapshot.parameters);
  base::kill_point("state.parameters");
  write_tensors(writer.file(kOptimizerFile), snapshot.optimizer);
  base::kill_point("state.optimizer");
  if (!snapshot.ema.empty()) write_tensors(writer.file(kEmaFile), snapshot.ema);
  base::write_file(writer.file(kStateFile), snapshot.json);
  // What sd-scripts' own tools look for.
  const Json compatible{{"current_epoch", snapshot.position.epoch}, {"current_step", snapshot.position.step}};
  base::write_file(writer.file("train_state.json"), compatible.dump() + "\n");
  base::kill_point("state.before_commit");
  writer.commit(kStateKind, kStateVersion);
  base::kill_point("state.committed");
}

SavedState open_state(const fs::path& folder) {
  const base::Manifest manifest = base::verify_folder(folder);
  if (manifest.kind != kStateKind || manifest.version < 1 || manifest.version > kStateVersion) {
    throw base::Error(base::ErrorCode::Format, folder.string() + " holds \"" + manifest.kind + "\" of version " +
                                                   std::to_string(manifest.version) + "; this program reads \"" +
                                                   kStateKind + "\" up to version " + std::to_string(kStateVersion) +
                                                   ": use the newer program that wrote it");
  }
  SavedState state{.folder = folder};
  const Json json = parse_state(folder);
  const StateFields fields(json, folder / kStateFile);
  state.position = position_from(json, folder / kStateFile);
  state.identity.seed = fields.whole("seed");
  state.identity.model_hash = fields.text("model_hash");
  state.identity.data_hash = fields.text("data_hash");
  state.identity.max_train_steps = fields.count("max_train_steps");
  state.identity.batches_per_epoch = fields.count("batches_per_epoch");
  state.identity.options = fields.texts("options");
  if (json.contains("lineage")) state.identity.lineage = fields.text("lineage");
  state.identity.runs = runs_from(fields, json);
  if (json.contains("pictures_hash")) state.identity.pictures_hash = fields.text("pictures_hash");
  if (json.contains("picture_times")) state.identity.picture_times = fields.text("picture_times");
  check_rest(fields);
  return state;
}

StateSummary summary_of_state(const fs::path& folder) {
  try {
    const Json json = parse_state(folder);
    StateSummary summary{.step = position_from(json, folder / kStateFile).step};
    const StateFields fields(json, folder / kStateFile);
    if (json.contains("lineage")) summary.lineage = fields.text("lineage");
    if (json.contains("saved_ms")) summary.saved_ms = static_cast<int64_t>(fields.whole("saved_ms"));
    summary.runs = runs_from(fields, json);
    return summary;
  } catch (const base::Error&) {
    return {};
  }
}

void restore_state(const SavedState& state, const StatefulParts& parts) {
  base::kill_point("resume.before");
  copy_into(parts.parameters.values(), read_tensors(state.folder / kParametersFile), "weights");
  parts.parameters.store_values();
  optim::restore_state(parts.optimizer, read_tensors(state.folder / kOptimizerFile));
  const Json json = parse_state(state.folder);
  const StateFields fields(json, state.folder / kStateFile);
  if (parts.ema != nullptr) {
    if (!fs::exists(state.folder / kEmaFile)) {
      throw base::Error(base::ErrorCode::Config, state.folder.string() +
                                                     " holds no moving average: it was saved by a run without ema; "
                                                     "resume without ema");
    }
    copy_into(parts.ema->state(), read_tensors(state.folder / kEmaFile), "averages");
    parts.ema->set_updates(fields.count("ema_updates"));
  }
  const LossScale scale = loss_scale_from(fields);
  parts.scaler.restore({scale.scale, scale.good_steps});
  parts.log.restore(log_from(fields));
  parts.validation.restore(losses_from(fields));
  parts.saved_files = fields.counts("saved_files");
  base::kill_point("resume.restored");
}

std::string data_fingerprint(const std::vector<data::Dataset>& datasets) {
  base::Sha256 hash;
  for (const data::Dataset& dataset : datasets) {
    for (const std::string& one : subset_hashes(dataset)) hash.update(one);
    hash.update(std::to_string(dataset.options.batch_size) + ";");
    for (const data::Sample& sample : dataset.samples) hash.update(data::to_string(sample.bucket.bucket) + ";");
  }
  return hash.hex();
}

}  // namespace cinnabar::train
