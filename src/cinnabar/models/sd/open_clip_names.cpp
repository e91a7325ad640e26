#include "cinnabar/models/sd/open_clip_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>

namespace cinnabar::models::sd {

namespace {

using Pair = std::pair<std::string_view, std::string_view>;  // open_clip, transformers

constexpr std::array<Pair, 4> kTop{{{"token_embedding.weight", "text_model.embeddings.token_embedding.weight"},
                                    {"positional_embedding", "text_model.embeddings.position_embedding.weight"},
                                    {"ln_final.weight", "text_model.final_layer_norm.weight"},
                                    {"ln_final.bias", "text_model.final_layer_norm.bias"}}};
// Modules of a layer; ".weight" and ".bias" follow.
constexpr std::array<Pair, 5> kLayer{{{"ln_1", "layer_norm1"},
                                      {"ln_2", "layer_norm2"},
                                      {"mlp.c_fc", "mlp.fc1"},
                                      {"mlp.c_proj", "mlp.fc2"},
                                      {"attn.out_proj", "self_attn.out_proj"}}};
constexpr std::array<std::string_view, 3> kFused{"q_proj", "k_proj", "v_proj"};  // in the order of in_proj
constexpr std::string_view kResblocks = "transformer.resblocks.";
constexpr std::string_view kLayers = "text_model.encoder.layers.";
constexpr std::string_view kInProjection = "attn.in_proj_";  // "weight" or "bias" follows

// "HEAD12.rest" -> 12 and "rest".
std::optional<std::pair<int64_t, std::string_view>> layer_part(std::string_view name, std::string_view head) {
  if (!name.starts_with(head)) return std::nullopt;
  name.remove_prefix(head.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end == name.data() + name.size() || *end != '.') return std::nullopt;
  return std::pair(number, name.substr(static_cast<size_t>(end - name.data()) + 1));
}

bool is_left_out(std::string_view name) {
  return name == "logit_scale" || name == "attn_mask" || name == "text_projection" || name == "text_projection.weight";
}

formats::TensorView third_of(const formats::TensorView& view, size_t index) {
  formats::TensorView part = view;
  part.shape[0] /= 3;
  const size_t size = view.bytes.size() / 3;
  part.bytes = view.bytes.subspan(index * size, size);
  return part;
}

// The open_clip name of a tensor of our modules that is not part of in_proj; nothing for those and for unknown names.
std::optional<std::string> open_clip_name(std::string_view name) {
  for (const auto& [open_clip, ours] : kTop) {
    if (name == ours) return std::string(open_clip);
  }
  const auto part = layer_part(name, kLayers);
  if (!part) return std::nullopt;
  for (const auto& [open_clip, ours] : kLayer) {
    if (!part->second.starts_with(ours) || part->second.substr(ours.size()).find('.') != 0) continue;
    return std::string(kResblocks) + std::to_string(part->first) + "." + std::string(open_clip) +
           std::string(part->second.substr(ours.size()));
  }
  return std::nullopt;
}

// Layer and "weight" or "bias" of "text_model.encoder.layers.N.self_attn.q_proj.weight", and the place in in_proj.
struct FusedPart {
  std::string name;  // of the in_proj tensor
  size_t index = 0;
};

std::optional<FusedPart> fused_part(std::string_view name) {
  const auto part = layer_part(name, kLayers);
  if (!part) return std::nullopt;
  for (size_t i = 0; i < kFused.size(); ++i) {
    const std::string module = "self_attn." + std::string(kFused[i]) + ".";
    if (!part->second.starts_with(module)) continue;
    return FusedPart{std::string(kResblocks) + std::to_string(part->first) + "." + std::string(kInProjection) +
                         std::string(part->second.substr(module.size())),
                     i};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> module_names(const std::string& name) {
  for (const auto& [open_clip, ours] : kTop) {
    if (name == open_clip) return {std::string(ours)};
  }
  const auto part = layer_part(name, kResblocks);
  if (!part) return {name};
  const std::string layer = std::string(kLayers) + std::to_string(part->first) + ".";
  if (part->second.starts_with(kInProjection)) {
    const std::string ending(part->second.substr(kInProjection.size()));
    std::vector<std::string> names;
    for (const std::string_view module : kFused) {
      names.push_back(layer + "self_attn." + std::string(module) + "." + ending);
    }
    return names;
  }
  for (const auto& [open_clip, ours] : kLayer) {
    if (!part->second.starts_with(open_clip) || part->second.substr(open_clip.size()).find('.') != 0) continue;
    return {layer + std::string(ours) + std::string(part->second.substr(open_clip.size()))};
  }
  return {name};
}

NamedViews from_open_clip(const NamedViews& views, int64_t layers) {
  NamedViews result;
  for (const auto& [name, view] : views) {
    if (is_left_out(name)) continue;
    const auto part = layer_part(name, kResblocks);
    if (part && part->first >= layers) continue;
    const std::vector<std::string> names = module_names(name);
    const bool is_whole = names.size() == 1 || view.shape.empty() || view.shape[0] % 3 != 0;
    if (is_whole) {
      result.emplace(names.size() == 1 ? names.front() : name, view);
      continue;
    }
    for (size_t i = 0; i < names.size(); ++i) result.emplace(names[i], third_of(view, i));
  }
  return result;
}

void to_open_clip(NamedTensors& tensors, const std::string& prefix) {
  std::map<std::string, std::vector<at::Tensor>> fused;
  NamedTensors result;
  for (auto& [name, value] : tensors) {
    if (!name.starts_with(prefix)) {
      result.emplace_back(name, value);
      continue;
    }
    const std::string own = name.substr(prefix.size());
    if (const auto part = fused_part(own)) {
      std::vector<at::Tensor>& parts = fused[prefix + part->name];
      parts.resize(kFused.size());
      parts[part->index] = value.detach();
      continue;
    }
    result.emplace_back(prefix + open_clip_name(own).value_or(own), value);
  }
  for (const auto& [name, parts] : fused) result.emplace_back(name, at::cat(parts, 0));
  tensors = std::move(result);
}

void add_unused_layer(NamedTensors& tensors, const std::string& prefix) {
  int64_t last = -1;
  int64_t width = 0;
  at::TensorOptions options;
  for (const auto& [name, value] : tensors) {
    if (!name.starts_with(prefix)) continue;
    const std::string own = name.substr(prefix.size());
    if (const auto part = layer_part(own, kResblocks)) last = std::max(last, part->first);
    if (own == "ln_final.weight") {
      width = value.size(0);
      options = value.options();
    }
  }
  NamedTensors more;
  const std::string head = prefix + std::string(kResblocks);
  for (const auto& [name, value] : tensors) {
    const auto part = layer_part(name, head);
    if (part && part->first == last) {
      more.emplace_back(head + std::to_string(last + 1) + "." + std::string(part->second), value.detach().clone());
    }
  }
  more.emplace_back(prefix + "text_projection", at::ones({width, width}, options.requires_grad(false)));
  more.emplace_back(prefix + "logit_scale", at::scalar_tensor(1, at::TensorOptions().dtype(at::kLong)));
  for (auto& entry : more) tensors.push_back(std::move(entry));
}

}  // namespace cinnabar::models::sd
