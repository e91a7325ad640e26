#include "cinnabar/schema/completeness.h"

#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

void check_row(const Option& option, const std::string& owner, std::vector<std::string>& findings) {
  const auto find = [&](bool is_wrong, const std::string& what) {
    if (is_wrong) findings.push_back(owner + ": " + option.name + ": " + what);
  };
  find(option.group.empty(), "has no group");
  find(option.label.empty(), "has no label");
  find(option.help.size() < 10 || option.help.back() != '.', "needs a sentence of help");
  find(!check_value(option, option.fallback).empty(), "its default is not allowed: " + value_text(option.fallback));
  find(option.type == Type::Flag && option.fallback.index() != 1, "a flag needs the default true or false");
}

}  // namespace

std::vector<std::string> incomplete_rows(const std::vector<DescribedCommand>& commands) {
  std::vector<std::string> findings;
  for (const DescribedCommand& command : commands) {
    for (const Option& option : command.schema.options()) {
      check_row(option, command.name, findings);
      if (find_planned(option.name) != nullptr)
        findings.push_back(command.name + ": " + option.name + ": is built; take it out of planned.cpp");
    }
    for (const EntryTable& table : command.schema.tables()) {
      for (const Entry& entry : table.entries) {
        if (entry.help.empty()) findings.push_back(table.kind + " " + entry.name + ": has no help");
        for (const Option& option : entry.options) check_row(option, table.kind + " " + entry.name, findings);
      }
    }
  }
  return findings;
}

}  // namespace cinnabar::schema
