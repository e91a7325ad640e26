// A table of named things, filled before main ends its first line and read-only after.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/base/text_match.h"

namespace cinnabar::base {

// `Entry` describes or makes one thing. `kind` is the word that errors use, for example "optimizer".
template <class Entry>
class Registry {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  bool add(const std::string& name, Entry entry) {
    CINNABAR_ASSERT(entries_.emplace(name, std::move(entry)).second);
    return true;
  }
  const Entry* find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }
  // Throws Error{Config} that names the nearest entry and all known ones.
  const Entry& at(const std::string& name) const {
    if (const Entry* entry = find(name)) return *entry;
    const std::string near = nearest_name(name, names());
    std::string message =
        "unknown " + kind_ + " \"" + name + "\"" + (near.empty() ? "" : ": did you mean \"" + near + "\"?");
    message += " Known: ";
    for (const std::string& known : names()) message += known + (known == names().back() ? "" : ", ");
    throw Error(ErrorCode::Config, message);
  }
  // In alphabetical order.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, entry] : entries_) result.push_back(name);
    return result;
  }

 private:
  std::string kind_;
  std::map<std::string, Entry> entries_;
};

}  // namespace cinnabar::base
