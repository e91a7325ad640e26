#include "cinnabar/adapters/adapter_keys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cinnabar/base/error.h"

namespace cinnabar::adapters {

namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

// Endings of dotted keys and kohya's word for them (PEFT, diffusers; older diffusers files).
constexpr std::array<Renaming, 9> kEndings{{
    {".lora_A.weight", "lora_down.weight"},
    {".lora_B.weight", "lora_up.weight"},
    {".lora_A.default.weight", "lora_down.weight"},
    {".lora_B.default.weight", "lora_up.weight"},
    {".lora_down.weight", "lora_down.weight"},
    {".lora_up.weight", "lora_up.weight"},
    {".lora.down.weight", "lora_down.weight"},
    {".lora.up.weight", "lora_up.weight"},
    {".alpha", "alpha"},
}};

// First part of a dotted key and the prefixes that its layers may have in flat names.
constexpr std::array<Renaming, 6> kComponents{{
    {"unet", "lora_unet"},
    {"transformer", "lora_unet"},
    {"diffusion_model", "lora_unet"},
    {"text_encoder", "lora_te"},
    {"text_encoder", "lora_te1"},
    {"text_encoder_2", "lora_te2"},
}};

std::optional<AdapterKey> recognise_dotted(std::string_view key, const std::set<std::string>& names) {
  constexpr std::string_view kPeftFolder = "base_model.model.";
  if (key.starts_with(kPeftFolder)) key.remove_prefix(kPeftFolder.size());
  const std::string_view component = key.substr(0, key.find('.'));
  for (const auto& [ending, suffix] : kEndings) {
    if (!key.ends_with(ending) || key.size() <= component.size() + 1 + ending.size()) continue;
    const std::string_view path = key.substr(component.size() + 1, key.size() - component.size() - 1 - ending.size());
    std::string flat(path);
    std::replace(flat.begin(), flat.end(), '.', '_');
    for (const auto& [word, prefix] : kComponents) {
      std::string name = std::string(prefix) + "_" + flat;
      if (word == component && names.contains(name)) {
        return AdapterKey{std::move(name), std::string(suffix), std::string(component), std::string(path)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<AdapterKey> recognise_key(std::string_view key, const std::set<std::string>& names) {
  const size_t dot = key.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::string flat(key.substr(0, dot));
  if (names.contains(flat)) return AdapterKey{std::move(flat), std::string(key.substr(dot + 1)), {}, {}};
  return recognise_dotted(key, names);
}

std::optional<double> alpha_from_metadata(const std::map<std::string, std::string>& metadata, const AdapterKey& key,
                                          double rank) {
  const auto found = metadata.find("lora_adapter_metadata");
  if (found == metadata.end() || key.component.empty()) return std::nullopt;
  const nlohmann::json config = nlohmann::json::parse(found->second, nullptr, false);
  if (!config.is_object()) {
    throw base::Error(base::ErrorCode::Format, "the metadata entry lora_adapter_metadata is not a JSON object");
  }
  const auto field = [&](const std::string& name) {
    return config.value(key.component + "." + name, nlohmann::json());
  };
  std::optional<double> alpha;
  if (const nlohmann::json value = field("lora_alpha"); value.is_number()) alpha = value.get<double>();
  if (const nlohmann::json patterns = field("alpha_pattern"); patterns.is_object()) {
    for (const auto& [path, value] : patterns.items()) {
      const bool fits = key.path == path || key.path.ends_with("." + path);
      if (fits && value.is_number()) alpha = value.get<double>();
    }
  }
  const nlohmann::json is_rank_stabilised = field("use_rslora");  // scale alpha / sqrt(r)
  if (alpha && is_rank_stabilised.is_boolean() && is_rank_stabilised.get<bool>()) *alpha *= std::sqrt(rank);
  return alpha;
}

}  // namespace cinnabar::adapters
