// Whole training runs against the reference tool: losses, gradients, norms and final weights.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/adapters/registry.h"
#include "cinnabar/loss/entry.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/noise/noise_offset.h"
#include "cinnabar/optim/optimizer.h"
#include "cinnabar/train/step.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

// goldens/training/README.md. Losses are relative; the norm before clipping is held to the losses' bound.
constexpr double kEarlyLoss = 1e-4;
constexpr double kLateLoss = 1e-3;
constexpr double kMostWeights = 1e-4;  // 99.9 % of them
constexpr double kAllWeights = 2e-3;
constexpr double kGradient = 1e-4;  // relative to the tensor's largest entry, as in goldens/models/README.md

struct Case {
  std::string name;
  nlohmann::json settings;
  std::filesystem::path folder;

  std::filesystem::path file(const std::string& ending) const {
    return folder / (name + "_" + ending + ".safetensors");
  }
};

// Everything of the case that this test knows how to set; another word means that the case cannot be run.
std::string unknown_setting(const nlohmann::json& settings) {
  static const std::set<std::string> kSettings{"kind",
                                               "arch",
                                               "args",
                                               "network",
                                               "train_te",
                                               "train_unet",
                                               "lr",
                                               "te_lr",
                                               "unet_lr",
                                               "accum",
                                               "opt",
                                               "max_grad_norm",
                                               "losses",
                                               "optimizer",
                                               "metadata",
                                               "mask",
                                               "keep_grad",
                                               "loss_weights",
                                               "steps",
                                               "lr_scheduler",
                                               "observed_spread",
                                               "grad_norms_before_clipping"};
  std::set<std::string> network{"dim", "alpha"};
  for (const schema::Option& option : adapters::adapter_descriptions().at("networks.lora").options)
    network.insert(option.name);
  std::set<std::string> args{"clip_skip",         "masked_loss",  "v_parameterization",
                             "zero_terminal_snr", "noise_offset", "adaptive_noise_scale",
                             "ip_noise_gamma",    "loss_type",    "scale_weight_norms"};
  for (auto* registry : {&loss::entries(), &loss::weight_entries()}) {
    for (const std::string& entry : registry->names()) {
      args.insert(entry);
      for (const schema::Option& option : registry->at(entry).options) args.insert(option.name);
    }
  }
  for (const auto& [known, object] :
       {std::pair{&kSettings, settings},
        std::pair<const std::set<std::string>*, nlohmann::json>{&network, settings.at("network")},
        std::pair<const std::set<std::string>*, nlohmann::json>{&args, settings.at("args")}}) {
    for (const auto& [key, value] : object.items()) {
      if (!known->contains(key)) return key;
    }
  }
  return {};
}

schema::Values values_from(const nlohmann::json& args) {
  schema::Values values;
  for (const auto& [name, value] : args.items()) {
    if (value.is_boolean()) values.set(name, value.get<bool>());
    if (value.is_number_integer()) values.set(name, value.get<int64_t>());
    if (value.is_number_float()) values.set(name, value.get<double>());
    if (value.is_string()) values.set(name, value.get<std::string>());
  }
  return values;
}

// As a user would write them: network_args are the reference tool's keyword arguments.
adapters::AdapterOptions adapter_options(const nlohmann::json& settings) {
  schema::Values values;
  std::vector<std::string> arguments;
  for (const auto& [name, value] : settings.at("network").items()) {
    if (name == "dim") values.set("network_dim", value.get<int64_t>());
    if (name == "alpha" && value.is_number_integer()) values.set("network_alpha", value.get<int64_t>());
    if (name == "alpha" && value.is_number_float()) values.set("network_alpha", value.get<double>());
    if (name == "dim" || name == "alpha" || value.is_null()) continue;
    arguments.push_back(name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  values.set("network_args", arguments);
  values.set("network_train_unet_only", !settings.at("train_te").get<bool>());
  values.set("network_train_text_encoder_only", !settings.at("train_unet").get<bool>());
  adapters::AdapterOptions options = adapters::adapter_options(values);
  // The reference takes 1.0 where no alpha is given.
  if (!values.has("network_alpha")) options.network_alpha = {1.0, false};
  return options;
}

// "betas=0.9,0.99" and the like, as a user would write them.
std::vector<std::string> optimizer_arguments(const nlohmann::json& settings) {
  std::vector<std::string> arguments;
  if (!settings.contains("opt")) return arguments;
  for (const auto& [name, value] : settings.at("opt").items()) {
    std::string text = value.dump();
    std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
    arguments.push_back(name + "=" + text);
  }
  return arguments;
}

// One run of a case.
class Run {
 public:
  explicit Run(const Case& golden)
      : golden_(golden),
        settings_(golden.settings),
        values_(values_from(settings_.at("args"))),
        inputs_(golden.file("inputs")),
        model_(models::load_model(model_path(golden), {.v_parameterization = values_.flag("v_parameterization"),
                                                       .has_sdscripts_projection = true})),
        step_(*model_, values_),
        set_("networks.lora", model_->adapter_targets(), adapter_options(settings_)) {
    const auto init = formats::Checkpoint::open(golden.file("init"));
    const adapters::LoadReport report = set_.load(*init);
    if (!report.unmatched.empty() || !report.missing.empty()) {
      throw base::Error(base::ErrorCode::Format,
                        "the starting weights do not fit the network: " +
                            (report.missing.empty() ? report.unmatched.front() : report.missing.front()));
    }
    set_.freeze([this](const models::AdapterTarget& target) { return !model_->uses(target, text_options()); });
    const double lr = settings_.at("lr").get<double>();
    for (adapters::ParameterGroup& group : set_.parameter_groups(
             {.unet = settings_.value("unet_lr", lr), .text_encoder = settings_.value("te_lr", lr)})) {
      optim::NamedTensors tensors;
      for (const adapters::NamedParameter& parameter : group.parameters)
        tensors.emplace_back(parameter.name, *parameter.value);
      parameters_.add_group(group.label, group.lr, tensors);
    }
    const std::string optimizer = settings_.at("optimizer").get<std::string>();
    optimizer_ =
        optim::make_optimizer(optimizer.substr(optimizer.rfind('.') + 1), optimizer_arguments(settings_), parameters_);
  }

  static std::string model_path(const Case& golden) {
    return (golden.folder.parent_path() / "models" / (golden.settings.at("arch").get<std::string>() + ".safetensors"))
        .string();
  }

  void set_checkpointing(bool on) {
    for (const models::ModelPart& part : model_->parts()) {
      part.module->train(on);
      part.module->set_checkpointing(on);
    }
  }

  // Forward of micro-step `index` of the inputs.
  at::Tensor loss(int64_t index) const {
    const auto row = [&](const char* name) { return inputs_.has(name) ? inputs_.at(name)[index] : at::Tensor(); };
    train::StepInputs batch{
        .latents = step_.scaled(row("latents")), .noise = row("noise"), .timesteps = row("timesteps")};
    if (const at::Tensor random = row("noise_offset_random"); random.defined()) {
      batch.noise = noise::add_noise_offset(batch.noise, batch.latents, random, values_.number("noise_offset"),
                                            values_.maybe_number("adaptive_noise_scale"));
    }
    if (const at::Tensor random = row("ip_noise_random"); random.defined()) {
      batch.input_noise = batch.noise + values_.number("ip_noise_gamma") * random;
    }
    if (const at::Tensor mask = row("alpha_masks_u8"); mask.defined()) batch.mask = mask.to(at::kFloat) / 255.0;
    batch.loss_weights = row("loss_weights");
    models::Tokens tokens;
    for (const char* name : {"input_ids", "input_ids2"}) {
      if (const at::Tensor ids = row(name); ids.defined()) {
        tokens.ids.push_back(ids.dim() == 2 ? ids.unsqueeze(1) : ids);
      }
    }
    batch.conditioning = model_->encode_text(tokens, text_options());
    if (inputs_.has("original_sizes_hw")) {
      batch.conditioning.sizes = at::cat({row("original_sizes_hw"), row("crop_top_lefts"), row("target_sizes_hw")}, 1);
    }
    return step_.run(batch).mean;
  }

  models::TextOptions text_options() const { return {.clip_skip = values_.maybe_integer("clip_skip").value_or(0)}; }
  optim::FlatParameters& parameters() { return parameters_; }
  adapters::AdapterSet& set() { return set_; }

  // Losses of the micro-steps of one optimizer step, gradients added up.
  std::vector<double> accumulate(int64_t step) {
    const int64_t count = settings_.value("accum", int64_t{1});
    std::vector<double> losses;
    for (int64_t i = 0; i < count; ++i) {
      const at::Tensor value = loss(step * count + i);
      (value / static_cast<double>(count)).backward();
      losses.push_back(value.item<double>());
      if (i + 1 < count) limit_norms();
    }
    return losses;
  }

  double update() {
    const double norm = parameters_.clip_gradients(settings_.value("max_grad_norm", 1.0)).item<double>();
    std::vector<double> rates;
    for (const optim::ParameterGroup& group : parameters_.groups()) rates.push_back(group.lr);
    optimizer_->step(rates);
    parameters_.zero_gradients();
    limit_norms();
    return norm;
  }

  // scale_weight_norms acts after every micro-step, behind the optimizer.
  void limit_norms() {
    const double most = values_.maybe_number("scale_weight_norms").value_or(0.0);
    if (most > 0.0) set_.limit_norms(most);
  }

 private:
  const Case& golden_;
  const nlohmann::json& settings_;
  schema::Values values_;
  GoldenTensors inputs_;
  std::unique_ptr<models::DiffusionModel> model_;
  train::TrainingStep step_;
  adapters::AdapterSet set_;
  optim::FlatParameters parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

void check_first_gradients(Run& run, const Case& golden, Reporter& reporter) {
  if (!std::filesystem::exists(golden.file("grad0"))) return;
  const GoldenTensors expected(golden.file("grad0"));
  std::vector<at::Tensor> all;
  for (const auto& [name, view] : expected.checkpoint().tensors()) all.push_back(expected.at(name));
  const double floor = gradient_floor(all);
  double largest = 0.0;
  std::string worst;
  for (const auto& [name, view] : expected.checkpoint().tensors()) {
    const double difference = relative_difference(run.parameters().gradient(name), expected.at(name), floor);
    if (!(difference <= largest)) {
      largest = difference;
      worst = name;
    }
  }
  reporter.result(golden.name + " first gradients", largest, kGradient, worst);
}

void check_final_weights(Run& run, const Case& golden, Reporter& reporter) {
  const GoldenTensors expected(golden.file("final"));
  std::vector<at::Tensor> differences;
  size_t found = 0;
  for (const auto& [name, value] : run.set().file_tensors()) {
    // The reference has SD 2's linear projections as 1x1 convolutions.
    const at::Tensor wanted = expected.has(name) ? without_unit_sides(expected.at(name), value) : at::Tensor();
    if (!wanted.defined() || wanted.scalar_type() != value.scalar_type() || wanted.sizes() != value.sizes()) {
      reporter.fail(golden.name + " final weights",
                    name + " is not in the reference file, or has another type or shape");
      return;
    }
    ++found;
    differences.push_back((value.to(at::kDouble) - wanted.to(at::kDouble)).abs().flatten());
  }
  if (found != expected.checkpoint().tensors().size()) {
    reporter.fail(golden.name + " final weights", "the reference file has more tensors");
    return;
  }
  const at::Tensor sorted = std::get<0>(at::sort(at::cat(differences)));
  const int64_t rank = static_cast<int64_t>(0.999 * static_cast<double>(sorted.numel() - 1));
  // Where the reference's own run moves further with another attention kernel, that is the bound: two roundings of one
  // run, of which each may lie on either side.
  const nlohmann::json spread = golden.settings.value("observed_spread", nlohmann::json::object());
  const auto bound = [&](const char* name, double usual) {
    const nlohmann::json value = spread.value(name, nlohmann::json());
    return value.is_number() ? std::max(usual, 2.0 * value.get<double>()) : usual;
  };
  reporter.result(golden.name + " final weights, 99.9 %", sorted[rank].item<double>(),
                  bound("final_weight_999_permille_abs", kMostWeights));
  reporter.result(golden.name + " final weights, all", sorted[-1].item<double>(),
                  bound("final_weight_max_abs", kAllWeights));
}

// The first step with activations computed again in backward: the same numbers, bit by bit.
void check_checkpointing(const Case& golden, const std::vector<double>& losses,
                         const std::vector<at::Tensor>& gradients, Reporter& reporter) {
  Run run(golden);
  run.set_checkpointing(true);
  bool is_equal = run.accumulate(0) == losses;
  for (size_t i = 0; i < gradients.size(); ++i) {
    is_equal = is_equal && run.parameters().groups().at(i).gradients.equal(gradients[i]);
  }
  reporter.result(golden.name + " gradient checkpointing", is_equal ? 0.0 : 1.0, 0.0, "bit-equal loss and gradients");
}

void check_case(const Case& golden, Reporter& reporter) {
  Run run(golden);
  const nlohmann::json& losses = golden.settings.at("losses");
  const nlohmann::json& norms = golden.settings.at("grad_norms_before_clipping");
  double early = 0.0;
  double late = 0.0;
  double norm_error = 0.0;
  for (size_t step = 0; step < losses.size(); ++step) {
    const std::vector<double> found = run.accumulate(static_cast<int64_t>(step));
    if (step == 0) {
      check_first_gradients(run, golden, reporter);
      std::vector<at::Tensor> gradients;
      for (const optim::ParameterGroup& group : run.parameters().groups()) gradients.push_back(group.gradients.clone());
      check_checkpointing(golden, found, gradients, reporter);
    }
    const std::vector<double> expected =
        losses[step].is_array() ? losses[step].get<std::vector<double>>() : std::vector{losses[step].get<double>()};
    for (size_t i = 0; i < expected.size(); ++i) {
      double& worst = step < (losses.size() + 1) / 2 ? early : late;
      worst = std::max(worst, std::abs(found.at(i) - expected[i]) / std::abs(expected[i]));
    }
    const double norm = norms.at(step).get<double>();
    norm_error = std::max(norm_error, std::abs(run.update() - norm) / norm);
  }
  reporter.result(golden.name + " losses of the first half", early, kEarlyLoss, "relative");
  reporter.result(golden.name + " losses of the second half", late, kLateLoss, "relative");
  reporter.result(golden.name + " gradient norms", norm_error, kLateLoss, "relative");
  check_final_weights(run, golden, reporter);
}

// Why the case cannot be run with what is built; empty when it can.
std::string missing_part(const Case& golden) {
  const nlohmann::json& settings = golden.settings;
  if (settings.value("kind", "") != "lora") return "training method not built yet";
  const auto checkpoint = formats::Checkpoint::open(Run::model_path(golden));
  const auto families = models::model_families().names();
  if (std::none_of(families.begin(), families.end(), [&](const std::string& name) {
        return models::model_families().at(name).recognises(*checkpoint);
      })) {
    return "model family not built yet";
  }
  if (settings.value("lr_scheduler", "constant") != "constant") return "schedule not built yet";
  const std::string unknown = unknown_setting(settings);
  return unknown.empty() ? "" : "setting not built yet: " + unknown;
}

void check_training(const std::filesystem::path& folder, Reporter& reporter) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
  }
  for (const std::string& name : names) {
    try {
      const Case golden{name, read_json(folder / (name + ".json")), folder};
      const std::string missing = missing_part(golden);
      if (!missing.empty()) {
        reporter.skip(name, missing);
        continue;
      }
      check_case(golden, reporter);
    } catch (const std::exception& error) {
      reporter.fail(name, error.what());
    }
  }
}

CINNABAR_PARITY_GROUP(training, "training", check_training);

}  // namespace

}  // namespace cinnabar::parity
