#include "cinnabar/train/network_source.h"

#include <cstdio>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/base/error.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/formats/adapter_family.h"
#include "cinnabar/tensor/finite_file.h"

namespace cinnabar::train {

namespace {

constexpr size_t kMostKeysNamed = 5;

std::string number_text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

void report_keys(const std::string& path, const std::vector<std::string>& keys, const std::string& what,
                 base::EventSink& events) {
  if (keys.empty()) return;
  std::string text = path + ": ";
  for (size_t i = 0; i < std::min(keys.size(), kMostKeysNamed); ++i) text += (i == 0 ? "" : ", ") + keys[i];
  if (keys.size() > kMostKeysNamed) text += " and " + std::to_string(keys.size() - kMostKeysNamed) + " more";
  events.warning(text + " " + what);
}

void load_values(adapters::AdapterSet& set, const formats::Checkpoint& file, base::EventSink& events) {
  const std::string path = file.path().string();
  std::map<std::string, double> alphas;
  const auto each_alpha = [&](const auto& use) {
    for (const auto& [name, value] : set.file_tensors()) {
      if (name.ends_with(".alpha")) use(name, value.template item<double>());
    }
  };
  each_alpha([&](const std::string& name, double alpha) { alphas[name] = alpha; });
  const adapters::LoadReport report = set.load(file);
  size_t changed = 0;
  each_alpha([&](const std::string& name, double alpha) { changed += alphas[name] == alpha ? 0U : 1U; });
  events.log("Loaded " + std::to_string(report.loaded) + " layers from " + path + ".");
  if (report.loaded == 0) {
    throw base::Error(base::ErrorCode::Format, path +
                                                   ": no key fits a layer of this network, so there is nothing to "
                                                   "continue from: is it an adapter, and for this family?");
  }
  report_keys(path, report.unmatched, "fit no layer of this network and are not used", events);
  report_keys(path, report.missing, "are not in the file and start anew", events);
  if (changed > 0)
    events.warning(path + ": the alphas of " + std::to_string(changed) + " layers are the file's, not network_alpha");
}

}  // namespace

void merge_base_weights(const schema::Values& values, LoadedModel& base, base::EventSink& events) {
  const std::vector<std::string> paths = values.texts("base_weights");
  const std::vector<double> multipliers = values.numbers("base_weights_multiplier");
  if (multipliers.size() > paths.size()) {
    throw base::Error(base::ErrorCode::Config, "base_weights_multiplier has " + std::to_string(multipliers.size()) +
                                                   " numbers for " + std::to_string(paths.size()) +
                                                   " files in base_weights: leave out the surplus ones");
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    const double multiplier = i < multipliers.size() ? multipliers[i] : 1.0;
    const auto file = formats::Checkpoint::open(paths[i]);
    tensor::check_finite_file(*file, values.flag("allow_nonfinite"), events);
    adapters::LoadReport report;
    const auto set = formats::naming_family(*file, base.model->info().family, [&] {
      return adapters::AdapterSet::from_file(base.model->adapter_targets(), *file, {}, &report);
    });
    report_keys(paths[i], report.unmatched, "fit no layer of this model and are not merged", events);
    set->merge(multiplier);
    file->check();
    base.merged += "+" + base::sha256_hex_of_file(paths[i]) + "*" + number_text(multiplier);
    events.log("Merged " + std::to_string(report.loaded) + " layers of " + paths[i] + " at " + number_text(multiplier) +
               " into the model.");
  }
}

std::unique_ptr<adapters::AdapterSet> make_network(const schema::Values& values, const LoadedModel& base, uint64_t seed,
                                                   base::EventSink& events) {
  adapters::AdapterOptions options = adapters::adapter_options(values);
  options.seed = seed;
  const std::vector<models::AdapterTarget> targets = base.model->adapter_targets();
  const auto path = values.maybe_text("network_weights");
  std::unique_ptr<adapters::AdapterSet> set;
  if (path && values.flag("dim_from_weights")) {
    const auto file = formats::Checkpoint::open(*path);
    tensor::check_finite_file(*file, values.flag("allow_nonfinite"), events);
    adapters::LoadReport report;
    set = formats::naming_family(*file, base.model->info().family,
                                 [&] { return adapters::AdapterSet::from_file(targets, *file, options, &report); });
    file->check();
    events.log("Made " + std::to_string(report.loaded) + " layers with the ranks and values of " + *path + ".");
    report_keys(*path, report.unmatched, "fit no layer of this model and are not used", events);
  } else {
    set = std::make_unique<adapters::AdapterSet>(values.text("network_module"), targets, options);
    if (path) {
      const auto file = formats::Checkpoint::open(*path);
      tensor::check_finite_file(*file, values.flag("allow_nonfinite"), events);
      formats::naming_family(*file, base.model->info().family, [&] { load_values(*set, *file, events); });
      file->check();
    }
  }
  for (const std::string& note : set->notes()) events.warning(note);
  return set;
}

adapters::PartRates part_rates(const schema::Values& values) {
  const double rate = values.maybe_number("learning_rate").value_or(2e-6);
  return {.unet = values.maybe_number("unet_lr").value_or(rate),
          .text_encoder = rate,
          .text_encoders = values.numbers("text_encoder_lr")};
}

std::optional<adapters::NormReport> limit_norms(const schema::Values& values, adapters::AdapterSet& set,
                                                optim::FlatParameters& parameters) {
  const double most = values.maybe_number("scale_weight_norms").value_or(0.0);
  if (most <= 0.0) return std::nullopt;
  const std::optional<adapters::NormReport> report = set.limit_norms(most);
  if (!report) {
    throw base::Error(base::ErrorCode::Config, "scale_weight_norms: adapters of the kind " + set.kind() +
                                                   " cannot be scaled to a norm: leave the option out");
  }
  const at::NoGradGuard no_grad;
  for (const optim::ParameterGroup& group : parameters.groups()) {
    // The layers' narrow copies were scaled; the wide ones follow.
    if (!group.stored_values.defined()) continue;
    at::Tensor wide = group.values;
    wide.copy_(group.stored_values);
  }
  return report;
}

}  // namespace cinnabar::train
