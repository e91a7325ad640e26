// The option rows of one command: lookup by name or alias, and the tables that selecting options choose from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cinnabar/schema/entry.h"
#include "cinnabar/schema/option.h"

namespace cinnabar::schema {

class Schema {
 public:
  Schema() = default;
  // Groups of rows, in the order in which help and docs show them.
  explicit Schema(const std::vector<std::vector<Option>>& groups);

  // A name or alias that exists already is Error{Internal}.
  void add(Option option);
  // A table whose selector is no option of this schema is left out. Entry options of a table without arguments option
  // become options of this schema, unless an option of that name exists.
  void add(const EntryTable& table);

  // By name or alias; nullptr when unknown.
  const Option* find(const std::string& name) const;
  const std::vector<Option>& options() const { return options_; }
  const std::vector<EntryTable>& tables() const { return tables_; }
  // The nearest known name, or "".
  std::string nearest(const std::string& name) const;
  // Group names in order of first appearance.
  std::vector<std::string> groups() const;

 private:
  std::vector<Option> options_;
  std::map<std::string, size_t> index_;
  std::vector<EntryTable> tables_;
};

}  // namespace cinnabar::schema
