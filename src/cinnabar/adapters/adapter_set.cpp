#ifdef CINNABAR_ENGINE
#include "cinnabar/adapters/adapter_set.h"

#include <algorithm>
#include <set>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/adapters/adapter_keys.h"
#include "cinnabar/formats/adapter_hashes.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/formats/torch_writer.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::adapters {

namespace {

bool is_text(const std::string& part) { return part.starts_with("text_encoder"); }

bool is_trained(const models::AdapterTarget& target, const AdapterOptions& options) {
  return is_text(target.part) ? options.train_text_encoder : options.train_unet;
}

// Every name that a layer has in files, with the one that it has here.
using LayerNames = std::map<std::string, std::string>;

void add_names(const models::AdapterTarget& target, LayerNames& names) {
  names.emplace(target.name, target.name);
  if (!target.diffusers_name.empty()) names.emplace(target.diffusers_name, target.name);
}

// The file's tensors by layer; keys that fit no layer go to `unmatched`.
std::map<std::string, AdapterTensors> read_layers(const formats::Checkpoint& file, const LayerNames& names,
                                                  std::vector<std::string>& unmatched) {
  std::map<std::string, AdapterTensors> layers;
  std::map<std::string, AdapterKey> dotted;
  std::set<std::string> spellings;
  for (const auto& [spelling, name] : names) spellings.insert(spelling);
  for (const auto& [key, view] : file.tensors()) {
    const std::optional<AdapterKey> known = recognise_key(key, spellings);
    if (!known) {
      unmatched.push_back(key);
      continue;
    }
    const std::string& name = names.at(known->name);
    layers[name][known->suffix] = tensor::copy(view);
    if (!known->component.empty()) dotted.emplace(name, *known);
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

// What `work` throws about a layer, with the file's name before it.
template <class Work>
auto naming_file(const formats::Checkpoint& file, const Work& work) {
  try {
    return work();
  } catch (const base::Error& error) {
    throw base::Error(error.code(), file.path().string() + ": " + error.message(), error.context());
  }
}

}  // namespace

AdapterSet::AdapterSet() : context_(std::make_shared<StepContext>()) {}

AdapterSet::AdapterSet(const std::string& kind, const std::vector<models::AdapterTarget>& targets,
                       const AdapterOptions& options)
    : options_(options), context_(std::make_shared<StepContext>()) {
  const AdapterFactory& factory = adapter_factories().at(kind);
  kind_ = factory.kind;
  read_targets(targets);
  for (const models::AdapterTarget& target : targets) {
    if (!is_trained(target, options)) continue;
    attach(target,
           factory.create({target.name, target.is_extended, *target.layer, options_, context_, block_rank(target)}));
  }
  if (items_.empty())
    throw base::Error(base::ErrorCode::Config, "no layer of the model takes an adapter of the kind \"" + kind + "\"");
}

std::unique_ptr<AdapterSet> AdapterSet::from_file(const std::vector<models::AdapterTarget>& targets,
                                                  const formats::Checkpoint& file, const AdapterOptions& options,
                                                  LoadReport* report) {
  std::unique_ptr<AdapterSet> set(new AdapterSet());  // the constructor is private
  set->options_ = options;
  set->read_targets(targets);
  LoadReport seen;
  LayerNames names;
  for (const models::AdapterTarget& target : targets) add_names(target, names);
  const std::map<std::string, AdapterTensors> layers =
      naming_file(file, [&] { return read_layers(file, names, seen.unmatched); });
  for (const models::AdapterTarget& target : targets) {
    const auto found = layers.find(target.name);
    if (found == layers.end() || !is_trained(target, options)) continue;
    const AdapterFactory* factory = factory_for(found->second);
    if (factory == nullptr) {
      for (const auto& [suffix, unused] : found->second) seen.unmatched.push_back(target.name + "." + suffix);
      continue;
    }
    set->kind_ = factory->kind;
    const LayerRequest request{target.name, target.is_extended, *target.layer, set->options_, set->context_};
    set->attach(target, naming_file(file, [&] { return factory->restore(request, found->second); }));
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

void AdapterSet::read_targets(const std::vector<models::AdapterTarget>& targets) {
  std::vector<std::string> layers;
  for (const models::AdapterTarget& target : targets) {
    const bool is_new = std::find(text_parts_.begin(), text_parts_.end(), target.part) == text_parts_.end();
    if (is_text(target.part) && is_new) text_parts_.push_back(target.part);
    layers.push_back(target.name);
  }
  notes_ = options_.notes;
  if (!options_.blocks.is_on() || !options_.train_unet) return;
  const std::optional<BlockLayout> layout = block_layout(layers);
  if (!layout) {
    throw base::Error(
        base::ErrorCode::Config,
        "network_args: ranks and rates by block are known for the U-Nets of SD1, SD2 and SDXL; this model "
        "has other blocks: leave out block_dims and the lr_weight lists");
  }
  blocks_ = plan_blocks(options_, *layout);
  notes_.insert(notes_.end(), blocks_->notes.begin(), blocks_->notes.end());
}

std::optional<LayerRank> AdapterSet::block_rank(const models::AdapterTarget& target) const {
  if (!blocks_ || is_text(target.part)) return std::nullopt;
  const std::optional<size_t> block = block_of(target.name, blocks_->layout);
  if (!block) return std::nullopt;
  const bool is_large = target.layer->shape().kernel > 1;
  const bool has_convolutions = !blocks_->conv_ranks.empty();
  if ((target.is_extended || is_large) && !has_convolutions) return LayerRank{.rank = 0};
  return is_large ? blocks_->conv_ranks[*block] : blocks_->ranks[*block];
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

std::pair<std::string, double> AdapterSet::group_of(const NamedParameter& parameter, const PartRates& rates) const {
  if (!is_text(parameter.part)) {
    const std::optional<size_t> block =
        blocks_ && !blocks_->weights.empty() ? block_of(parameter.name, blocks_->layout) : std::nullopt;
    if (!block) return {"unet", rates.unet};
    return {"unet_block" + std::to_string(*block), rates.unet * blocks_->weights[*block]};
  }
  const std::vector<double>& each = rates.text_encoders;
  if (each.empty()) return {"textencoder", rates.text_encoder};
  const auto found = std::find(text_parts_.begin(), text_parts_.end(), parameter.part);
  const auto encoder = static_cast<size_t>(found - text_parts_.begin());
  const size_t known = std::min(each.size(), text_parts_.size());
  const bool is_same = std::all_of(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(known),
                                   [&](double rate) { return rate == each.front(); });
  return {is_same ? "textencoder" : "textencoder " + std::to_string(encoder + 1),
          each[std::min(encoder, each.size() - 1)]};
}

std::vector<ParameterGroup> AdapterSet::parameter_groups(const PartRates& rates) {
  const auto specific = [&](const std::optional<double>& value) { return value ? value : options_.loraplus_lr_ratio; };
  std::vector<std::pair<ParameterGroup, ParameterGroup>> pairs;  // without and with LoRA+, in order of appearance
  for (NamedParameter& parameter : parameters()) {
    const std::optional<double> ratio =
        specific(is_text(parameter.part) ? options_.loraplus_text_encoder_lr_ratio : options_.loraplus_unet_lr_ratio);
    const auto [label, rate] = group_of(parameter, rates);
    auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first.label == label; });
    if (found == pairs.end()) {
      pairs.push_back({{label, rate}, {label + " plus", rate * ratio.value_or(1.0)}});
      found = pairs.end() - 1;
    }
    parameter.value->requires_grad_(rate != 0.0);
    const bool is_plus = ratio && parameter.name.find("lora_up") != std::string::npos;
    (is_plus ? found->second : found->first).parameters.push_back(std::move(parameter));
  }
  std::vector<ParameterGroup> groups;
  for (auto& [plain, plus] : pairs) {
    for (ParameterGroup* group : {&plain, &plus}) {
      if (group->lr != 0.0 && !group->parameters.empty()) groups.push_back(std::move(*group));
    }
  }
  return groups;
}

std::optional<NormReport> AdapterSet::limit_norms(double most) {
  std::vector<at::Tensor> norms;
  std::vector<at::Tensor> ratios;
  for (Item& item : items_) {
    const std::optional<NormLimit> limit = item.adapter->limit_norm(most);
    if (!limit) continue;
    norms.push_back(limit->norm);
    ratios.push_back(limit->ratio);
  }
  if (norms.empty()) return std::nullopt;
  const at::Tensor all = at::stack(norms).cpu();
  // Rounding leaves a layer that was scaled once a hair beside the limit: that is no scaling to report.
  const at::Tensor is_scaled = at::stack(ratios).cpu().lt(1.0 - 1e-6);
  return NormReport{is_scaled.sum().item<int64_t>(), all.mean().item<double>(), all.max().item<double>()};
}

void AdapterSet::set_multiplier(double multiplier) {
  for (Item& item : items_) item.adapter->multiplier = multiplier;
}

LoadReport AdapterSet::load(const formats::Checkpoint& file) {
  LoadReport report;
  LayerNames names;
  for (const Item& item : items_) add_names(item.target, names);
  const std::map<std::string, AdapterTensors> layers =
      naming_file(file, [&] { return read_layers(file, names, report.unmatched); });
  for (Item& item : items_) {
    const auto found = layers.find(item.target.name);
    if (found == layers.end()) {
      report.missing.push_back(item.target.name);
      continue;
    }
    std::set<std::string> known{"alpha"};
    for (const auto& [suffix, value] : item.adapter->file_tensors()) known.insert(suffix);
    for (const auto& [suffix, value] : found->second) {
      if (!known.contains(suffix)) report.unmatched.push_back(item.target.name + "." + suffix);
    }
    // A layer of which nothing is known is one that the file lacks.
    if (std::none_of(found->second.begin(), found->second.end(),
                     [&](const auto& one) { return one.first != "alpha" && known.contains(one.first); })) {
      report.missing.push_back(item.target.name);
      continue;
    }
    naming_file(file, [&] { item.adapter->load(found->second); });
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
  write_file(path, file_tensors(dtype), std::move(metadata));
}

void AdapterSet::write_file(const std::filesystem::path& path,
                            const std::vector<std::pair<std::string, at::Tensor>>& values,
                            std::map<std::string, std::string> metadata) {
  std::vector<formats::NamedTensor> tensors;
  tensors.reserve(values.size());
  for (const auto& [name, value] : values) tensors.push_back({name, tensor::view_of(value)});
  if (path.extension() != ".safetensors") return formats::write_torch_file(path, tensors);
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
