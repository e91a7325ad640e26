#include "cinnabar/schema/schema.h"

#include <algorithm>

#include "cinnabar/base/error.h"
#include "cinnabar/base/text_match.h"

namespace cinnabar::schema {

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

}  // namespace

const Entry* EntryTable::find(const std::string& name) const {
  const auto is_same = [&](const std::string& other) {
    return ignores_case ? lower(other) == lower(name) : other == name;
  };
  for (const Entry& entry : entries) {
    if (is_same(entry.name) || std::any_of(entry.aliases.begin(), entry.aliases.end(), is_same)) return &entry;
  }
  return nullptr;
}

std::vector<std::string> EntryTable::names() const {
  std::vector<std::string> result;
  for (const Entry& entry : entries) result.push_back(entry.name);
  return result;
}

Schema::Schema(const std::vector<std::vector<Option>>& groups) {
  for (const std::vector<Option>& group : groups) {
    for (const Option& option : group) add(option);
  }
}

void Schema::add(Option option) {
  CINNABAR_ASSERT(index_.emplace(option.name, options_.size()).second);
  for (const std::string& alias : option.aliases) CINNABAR_ASSERT(index_.emplace(alias, options_.size()).second);
  options_.push_back(std::move(option));
}

void Schema::add(const EntryTable& table) {
  if (!table.selector.empty() && find(table.selector) == nullptr) return;
  tables_.push_back(table);
  if (!table.arguments.empty()) return;
  for (const Entry& entry : table.entries) {
    for (const Option& option : entry.options) {
      if (find(option.name) == nullptr) add(option);
    }
  }
}

const Option* Schema::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &options_[found->second];
}

std::string Schema::nearest(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [known, position] : index_) names.push_back(known);
  return base::nearest_name(name, names);
}

std::vector<std::string> Schema::groups() const {
  std::vector<std::string> result;
  for (const Option& option : options_) {
    if (std::find(result.begin(), result.end(), option.group) == result.end()) result.push_back(option.group);
  }
  return result;
}

}  // namespace cinnabar::schema
