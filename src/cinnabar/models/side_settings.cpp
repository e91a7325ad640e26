#include "cinnabar/models/side_settings.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "cinnabar/base/error.h"

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
  throw base::Error(base::ErrorCode::Format,
                    "configuration of " + file + ": " + name + " = " + found.dump() + ": expected " + expected);
}

}  // namespace

SideSettings::SideSettings(const std::string& json, std::string file)
    : file_(std::move(file)), tree_(std::make_unique<Tree>()) {
  if (json.empty()) return;
  tree_->root = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!tree_->root.is_object()) {
    throw base::Error(base::ErrorCode::Format, "configuration of " + file_ + ": not a JSON object");
  }
}

SideSettings::~SideSettings() = default;
SideSettings::SideSettings(SideSettings&&) noexcept = default;

std::optional<int64_t> SideSettings::integer(const std::vector<std::string>& names) const {
  const auto [node, name] = tree_->find(names);
  if (node == nullptr) return std::nullopt;
  if (!node->is_number_integer()) refuse(file_, name, *node, "a whole number");
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
    if (!entry.is_number_integer()) refuse(file_, name, *node, "whole numbers");
    result.push_back(entry.get<int64_t>());
  }
  return result;
}

}  // namespace cinnabar::models
