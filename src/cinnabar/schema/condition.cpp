#include "cinnabar/schema/condition.h"

#include <algorithm>

#include "cinnabar/base/error.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

std::vector<std::string> parts_of(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end = text.find(separator); end != std::string::npos; end = text.find(separator, start)) {
    parts.push_back(text.substr(start, end - start));
    start = end + separator.size();
  }
  parts.push_back(text.substr(start));
  return parts;
}

Clause parse_clause(const std::string& text) {
  const std::vector<std::string> words = parts_of(text, " ");
  const bool is_name =
      !words[0].empty() && words[0].find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (is_name && words.size() == 1) return {words[0]};
  if (is_name && words.size() == 3 && words[1] == ">" && words[2] == "0") return {words[0]};
  if (is_name && words.size() == 3 && words[1] == "==" && !words[2].empty()) return {words[0], {words[2]}};
  if (is_name && words.size() >= 3 && words[1] == "in") {
    return {words[0], parts_of(text.substr(words[0].size() + std::string(" in ").size()), ", ")};
  }
  throw base::Error(base::ErrorCode::Internal, "no condition on an option: " + text);
}

}  // namespace

std::vector<Clause> parse_condition(const std::string& condition) {
  std::vector<Clause> clauses;
  for (const std::string& text : parts_of(condition, " or ")) clauses.push_back(parse_clause(text));
  return clauses;
}

bool is_on(const Value& value) {
  const std::string text = value_text(value);
  return !text.empty() && text != "false" && text != "0" && text != "0.0" && text != "none";
}

bool holds(const std::vector<Clause>& condition, const Values& values) {
  return std::ranges::any_of(condition, [&](const Clause& clause) {
    const Value& value = values.raw(clause.option);
    if (clause.values.empty()) return is_on(value);
    return std::ranges::find(clause.values, value_text(value)) != clause.values.end();
  });
}

std::string condition_text(const std::vector<Clause>& condition) {
  std::string text;
  for (const Clause& clause : condition) {
    text += (text.empty() ? "" : " or ") + clause.option;
    for (size_t i = 0; i < clause.values.size(); ++i) text += (i == 0 ? " = " : " or ") + clause.values[i];
  }
  return text;
}

}  // namespace cinnabar::schema
