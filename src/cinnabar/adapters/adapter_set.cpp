#ifdef CINNABAR_ENGINE
#include "cinnabar/adapters/adapter_set.h"

#include <set>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/adapters/adapter_keys.h"
#include "cinnabar/formats/adapter_hashes.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::adapters {

namespace {

bool is_text(const std::string& part) { return part.starts_with("text_encoder"); }

std::set<std::string> names_of(const std::vector<models::AdapterTarget>& targets) {
  std::set<std::string> names;
  for (const models::AdapterTarget& target : targets) names.insert(target.name);
  return names;
}

// The file's tensors by layer; keys that fit no layer go to `unmatched`.
std::map<std::string, AdapterTensors> read_layers(const formats::Checkpoint& file, const std::set<std::string>& names,
                                                  std::vector<std::string>& unmatched) {
  std::map<std::string, AdapterTensors> layers;
  std::map<std::string, AdapterKey> dotted;
  for (const auto& [key, view] : file.tensors()) {
    const std::optional<AdapterKey> known = recognise_key(key, names);
    if (!known) {
      unmatched.push_back(key);
      continue;
    }
    layers[known->name][known->suffix] = tensor::copy(view);
    if (!known->component.empty()) dotted.emplace(known->name, *known);
  }
  for (const auto& [name, key] : dotted) {
    AdapterTensors& tensors = layers[name];
    const auto down = tensors.find("lora_down.weight");
    if (tensors.contains("alpha") || down == tensors.end()) continue;
    const std::optional<double> alpha =
        alpha_from_metadata(file.metadata(), key, static_cast<double>(down->second.size(0)));
    if (alpha) tensors["alpha"] = at::scalar_tensor(*alpha, at::kFloat);
  }
  return layers;
}

const AdapterFactory* factory_for(const AdapterTensors& tensors) {
  for (const std::string& name : adapter_factories().names()) {
    const AdapterFactory& factory = adapter_factories().at(name);
    if (factory.recognises(tensors)) return &factory;
  }
  return nullptr;
}

}  // namespace

AdapterSet::AdapterSet() : context_(std::make_shared<StepContext>()) {}

AdapterSet::AdapterSet(const std::string& kind, const std::vector<models::AdapterTarget>& targets,
                       const AdapterOptions& options)
    : options_(options), context_(std::make_shared<StepContext>()) {
  const AdapterFactory& factory = adapter_factories().at(kind);
  kind_ = factory.kind;
  for (const models::AdapterTarget& target : targets) {
    if (!(is_text(target.part) ? options.train_text_encoder : options.train_unet)) continue;
    attach(target, factory.create({target.name, target.is_extended, *target.layer, options_, context_}));
  }
  if (items_.empty())
    throw base::Error(base::ErrorCode::Config, "no layer of the model takes an adapter of the kind \"" + kind + "\"");
}

std::unique_ptr<AdapterSet> AdapterSet::from_file(const std::vector<models::AdapterTarget>& targets,
                                                  const formats::Checkpoint& file, const AdapterOptions& options,
                                                  LoadReport* report) {
  std::unique_ptr<AdapterSet> set(new AdapterSet());  // the constructor is private
  set->options_ = options;
  LoadReport seen;
  const std::map<std::string, AdapterTensors> layers = read_layers(file, names_of(targets), seen.unmatched);
  for (const models::AdapterTarget& target : targets) {
    const auto found = layers.find(target.name);
    if (found == layers.end()) continue;
    const AdapterFactory* factory = factory_for(found->second);
    if (factory == nullptr) {
      for (const auto& [suffix, unused] : found->second) seen.unmatched.push_back(target.name + "." + suffix);
      continue;
    }
    set->kind_ = factory->kind;
    set->attach(target, factory->restore({target.name, target.is_extended, *target.layer, set->options_, set->context_},
                                         found->second));
  }
  seen.loaded = set->items_.size();
  if (set->items_.empty()) {
    const std::string example =
        file.tensors().empty() ? "no tensors at all" : "for instance " + file.tensors().begin()->first;
    throw base::Error(base::ErrorCode::Format,
                      file.path().string() + ": none of the " + std::to_string(file.tensors().size()) + " keys (" +
                          example + ") fits a layer of this model: is it an adapter, and for this family?");
  }
  if (report != nullptr) *report = std::move(seen);
  return set;
}

void AdapterSet::attach(const models::AdapterTarget& target, std::shared_ptr<LayerAdapter> adapter) {
  if (adapter == nullptr) return;
  target.layer->attach(adapter);
  items_.push_back({target, std::move(adapter), false});
}

std::vector<NamedParameter> AdapterSet::parameters() {
  std::vector<NamedParameter> result;
  for (Item& item : items_) {
    if (item.is_frozen) continue;
    for (const auto& [suffix, value] : item.adapter->trainable()) {
      result.push_back({item.target.name + "." + suffix, item.target.part, value});
    }
  }
  return result;
}

void AdapterSet::freeze(const std::function<bool(const models::AdapterTarget&)>& is_frozen) {
  for (Item& item : items_) {
    item.is_frozen = is_frozen(item.target);
    for (const auto& [suffix, value] : item.adapter->trainable()) value->requires_grad_(!item.is_frozen);
  }
}

std::vector<ParameterGroup> AdapterSet::parameter_groups(const PartRates& rates) {
  const auto specific = [&](const std::optional<double>& value) { return value ? value : options_.loraplus_lr_ratio; };
  std::vector<ParameterGroup> groups;
  for (const bool text : {true, false}) {
    const double rate = text ? rates.text_encoder : rates.unet;
    const std::optional<double> ratio =
        specific(text ? options_.loraplus_text_encoder_lr_ratio : options_.loraplus_unet_lr_ratio);
    const std::string label = text ? "textencoder" : "unet";
    ParameterGroup plain{label, rate};
    ParameterGroup plus{label + " plus", rate * ratio.value_or(1.0)};
    for (NamedParameter& parameter : parameters()) {
      if (is_text(parameter.part) != text) continue;
      parameter.value->requires_grad_(rate != 0.0);
      const bool is_plus = ratio && parameter.name.find("lora_up") != std::string::npos;
      (is_plus ? plus : plain).parameters.push_back(std::move(parameter));
    }
    for (ParameterGroup* group : {&plain, &plus}) {
      if (rate != 0.0 && !group->parameters.empty()) groups.push_back(std::move(*group));
    }
  }
  return groups;
}

void AdapterSet::set_multiplier(double multiplier) {
  for (Item& item : items_) item.adapter->multiplier = multiplier;
}

LoadReport AdapterSet::load(const formats::Checkpoint& file) {
  LoadReport report;
  std::set<std::string> names;
  for (const Item& item : items_) names.insert(item.target.name);
  std::map<std::string, AdapterTensors> layers = read_layers(file, names, report.unmatched);
  for (Item& item : items_) {
    const auto found = layers.find(item.target.name);
    if (found == layers.end()) {
      report.missing.push_back(item.target.name);
      continue;
    }
    item.adapter->load(found->second);
    ++report.loaded;
  }
  return report;
}

std::vector<std::pair<std::string, at::Tensor>> AdapterSet::file_tensors(std::optional<at::ScalarType> dtype) const {
  std::vector<std::pair<std::string, at::Tensor>> result;
  for (const Item& item : items_) {
    for (const auto& [suffix, value] : item.adapter->file_tensors()) {
      const at::Tensor kept = value.detach().to(at::kCPU, dtype.value_or(value.scalar_type())).contiguous();
      result.emplace_back(item.target.name + "." + suffix, kept);
    }
  }
  return result;
}

void AdapterSet::save(const std::filesystem::path& path, std::map<std::string, std::string> metadata,
                      std::optional<at::ScalarType> dtype) const {
  const std::vector<std::pair<std::string, at::Tensor>> values = file_tensors(dtype);
  std::vector<formats::NamedTensor> tensors;
  tensors.reserve(values.size());
  for (const auto& [name, value] : values) tensors.push_back({name, tensor::view_of(value)});
  // The hash leaves out what is not ss_*, so the order of these two lines does not matter to it.
  metadata["sshs_legacy_hash"] = formats::sshs_legacy_hash(tensors, metadata);
  metadata["sshs_model_hash"] = formats::sshs_model_hash(tensors);
  formats::write_safetensors(path, std::move(tensors), metadata);
}

void AdapterSet::merge(double strength) {
  const at::NoGradGuard no_grad;
  for (Item& item : items_) {
    at::Tensor& weight = item.target.layer->weight;
    const at::Tensor delta = item.adapter->delta_weight(*item.target.layer).to(weight.device());
    weight.copy_(weight.to(at::kFloat) + delta * strength);
  }
  detach();
}

void AdapterSet::detach() {
  for (const Item& item : items_) item.target.layer->detach(*item.adapter);
}

}  // namespace cinnabar::adapters
#endif
