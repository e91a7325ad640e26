#include "cinnabar/models/side_settings.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/base/utf8.h"

namespace cinnabar::models {

struct SideSettings::Tree {
  nlohmann::json root;

  // The first of `names` that is there and not null, with its name; else null.
  std::pair<const nlohmann::json*, std::string> find(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      const nlohmann::json* node = &root;
      for (size_t begin = 0; node != nullptr && begin <= name.size();) {
        const size_t end = std::min(name.find('.', begin), name.size());
        const std::string key = name.substr(begin, end - begin);
        node = node->is_object() && node->contains(key) ? &(*node)[key] : nullptr;
        begin = end + 1;
      }
      if (node != nullptr && !node->is_null()) return {node, name};
    }
    return {nullptr, {}};
  }
};

namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& name, const nlohmann::json& found,
                         const std::string& expected) {
  throw base::Error(base::ErrorCode::Format, "configuration of " + file + ": " + name + " = " +
                                                 found.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                                                 ": expected " + expected);
}

bool is_number_that_fits(const nlohmann::json& value) {
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > kLargest);
}

constexpr std::array<const char*, 7> kSections{"unet",           "vae",       "text_encoder", "text_encoder_1",
                                               "text_encoder_2", "scheduler", "model_index"};

// Keys that are read, in any section.
const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys{"unet",
                                             "vae",
                                             "text_encoder",
                                             "text_encoder_2",
                                             "scheduler",
                                             "prediction_type",
                                             "zero_terminal_snr",
                                             "rescale_betas_zero_snr",
                                             "num_heads",
                                             "head_counts_per_level",
                                             "num_attention_heads",
                                             "attention_head_dim",
                                             "head_dim",
                                             "num_head_channels",
                                             "group_norm_groups",
                                             "norm_num_groups",
                                             "scaling_factor",
                                             "num_layers_used",
                                             "hidden_act",
                                             "layer_norm_eps",
                                             "eos_token_id"};
  return keys;
}

// Other programs keep their own words in such a file, so that an unknown key is no mistake; one that is nearly a known
// key is.
void refuse_mistyped(const nlohmann::json& object, const std::string& prefix, const std::string& file) {
  static const std::set<std::string> kOthers{"bos_token_id", "sep_token_id", "cls_token_id", "text_encoder_1",
                                             "text_encoder_3"};
  const std::vector<std::string>& known = known_keys();
  for (const auto& [key, value] : object.items()) {
    if (key.size() < 6 || kOthers.contains(key) || std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto near = std::ranges::find_if(
        known, [&](const std::string& one) { return one.size() >= 6 && base::edit_distance(key, one) <= 2; });
    if (near == known.end()) continue;
    throw base::Error(base::ErrorCode::Format,
                      "configuration of " + file + ": unknown key " + prefix + key + "; did you mean " + *near + "?");
  }
}

// Sections and keys that no option is read from.
void list_unused(const nlohmann::json& object, const std::string& prefix, std::vector<std::string>& unused) {
  const std::vector<std::string>& known = known_keys();
  for (const auto& [key, value] : object.items()) {
    const bool is_section = prefix.empty() && std::ranges::find(kSections, key) != kSections.end();
    if (is_section && value.is_object()) list_unused(value, key + ".", unused);
    const bool is_read = is_section ? !value.is_string() : std::ranges::find(known, key) != known.end();
    if (!is_read) unused.push_back(prefix + key);
  }
}

void check_sections(const nlohmann::json& root, const std::string& file) {
  for (const char* section : kSections) {
    const auto found = root.find(section);
    if (found == root.end() || found->is_null()) continue;
    // Image programs name the autoencoder of a model in the file beside it.
    if (found->is_string()) continue;
    if (!found->is_object()) refuse(file, section, *found, "an object with settings");
  }
  // A folder's configurations are diffusers' own.
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return;
  refuse_mistyped(root, "", file);
  for (const char* section : kSections) {
    const auto found = root.find(section);
    if (found != root.end() && found->is_object()) refuse_mistyped(*found, std::string(section) + ".", file);
  }
}

}  // namespace

SideSettings::SideSettings(const std::string& json, std::string file)
    : file_(std::move(file)), tree_(std::make_unique<Tree>()) {
  if (json.empty()) return;
  tree_->root = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!tree_->root.is_object()) {
    throw base::Error(base::ErrorCode::Format, "configuration of " + file_ + ": not a JSON object");
  }
  check_sections(tree_->root, file_);
}

SideSettings::~SideSettings() = default;
SideSettings::SideSettings(SideSettings&&) noexcept = default;

std::string SideSettings::unused_text() const {
  constexpr size_t kMostNamed = 8;
  constexpr size_t kMostBytes = 60;
  std::error_code error;
  if (!tree_->root.is_object() || std::filesystem::is_directory(file_, error)) return {};
  std::vector<std::string> unused;
  list_unused(tree_->root, "", unused);
  if (unused.empty()) return {};
  std::string text = "the configuration beside " + file_ + " has keys that are not used: ";
  for (size_t i = 0; i < std::min(unused.size(), kMostNamed); ++i)
    text += (i == 0 ? "" : ", ") + base::shown_text(unused[i], kMostBytes);
  if (unused.size() > kMostNamed) text += " and " + std::to_string(unused.size() - kMostNamed) + " more";
  return text;
}

std::optional<int64_t> SideSettings::integer(const std::vector<std::string>& names) const {
  const auto [node, name] = tree_->find(names);
  if (node == nullptr) return std::nullopt;
  if (!is_number_that_fits(*node)) refuse(file_, name, *node, "a whole number");
  return node->get<int64_t>();
}

std::optional<double> SideSettings::number(const std::vector<std::string>& names) const {
  const auto [node, name] = tree_->find(names);
  if (node == nullptr) return std::nullopt;
  if (!node->is_number()) refuse(file_, name, *node, "a number");
  return node->get<double>();
}

std::optional<std::string> SideSettings::text(const std::vector<std::string>& names) const {
  const auto [node, name] = tree_->find(names);
  if (node == nullptr) return std::nullopt;
  if (!node->is_string()) refuse(file_, name, *node, "a text");
  return node->get<std::string>();
}

std::optional<bool> SideSettings::flag(const std::vector<std::string>& names) const {
  const auto [node, name] = tree_->find(names);
  if (node == nullptr) return std::nullopt;
  if (!node->is_boolean()) refuse(file_, name, *node, "true or false");
  return node->get<bool>();
}

std::optional<std::vector<int64_t>> SideSettings::integers(const std::vector<std::string>& names) const {
  const auto [node, name] = tree_->find(names);
  if (node == nullptr) return std::nullopt;
  const nlohmann::json list = node->is_array() ? *node : nlohmann::json::array({*node});
  std::vector<int64_t> result;
  for (const nlohmann::json& entry : list) {
    if (!is_number_that_fits(entry)) refuse(file_, name, *node, "whole numbers");
    result.push_back(entry.get<int64_t>());
  }
  return result;
}

}  // namespace cinnabar::models
