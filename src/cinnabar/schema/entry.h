// What a selecting option (optimizer_type, network_module, ...) chooses from, with the arguments that each choice
// takes.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/schema/option.h"

namespace cinnabar::schema {

struct Entry {
  std::string name;
  std::vector<std::string> aliases{};
  std::string help{};
  std::vector<Option> options{};  // keys of the arguments option, or options of their own when the table has none
};

struct EntryTable {
  std::string kind;         // the word that messages use: "optimizer"
  std::string selector{};   // option that names the entry: "optimizer_type"; empty: entries act by their own options
  std::string arguments{};  // option with its key=value arguments: "optimizer_args"; may be empty
  std::string arguments_unless{};  // option that, when it is set, takes the arguments for another table
  bool ignores_case = false;
  std::vector<Entry> entries{};

  // By name or alias; nullptr when unknown.
  const Entry* find(const std::string& name) const;
  std::vector<std::string> names() const;
};

}  // namespace cinnabar::schema
