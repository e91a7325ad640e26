#include "cinnabar/schema/key_values.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "cinnabar/base/text_match.h"
#include "cinnabar/base/trimmed.h"

namespace cinnabar::schema {

namespace {

// Without one pair of the given marks around it.
std::string unwrapped(const std::string& text, char open, char close) {
  const bool is_wrapped = text.size() >= 2 && text.front() == open && text.back() == close;
  return is_wrapped ? base::trimmed(text.substr(1, text.size() - 2)) : text;
}

std::string unquoted(const std::string& text) { return unwrapped(unwrapped(text, '\'', '\''), '"', '"'); }

std::optional<double> to_number(const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> to_integer(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<bool> to_flag(const std::string& text) {
  if (text == "True" || text == "true" || text == "1") return true;
  if (text == "False" || text == "false" || text == "0") return false;
  return std::nullopt;
}

std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items;
  std::string rest = unwrapped(unwrapped(text, '(', ')'), '[', ']');
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    items.push_back(unquoted(base::trimmed(rest.substr(0, comma))));
    rest = comma == std::string::npos ? "" : base::trimmed(rest.substr(comma + 1));
  }
  return items;
}

std::string expected_form(const Option& row) {
  switch (row.type) {
    case Type::Flag:
      return "True or False";
    case Type::Int:
      return "a whole number";
    case Type::Float:
      return "a number";
    case Type::FloatList:
      return "numbers with commas between them (for example 0.9,0.99)";
    default:
      return "a text";
  }
}

// monostate: the text is not of the row's type.
Value parse(const std::string& text, const Option& row) {
  switch (row.type) {
    case Type::Flag:
      if (const auto flag = to_flag(text)) return *flag;
      return {};
    case Type::Int:
      if (const auto whole = to_integer(text)) return *whole;
      return {};
    case Type::Float:
      if (const auto number = to_number(text)) return *number;
      return {};
    case Type::FloatList: {
      std::vector<double> numbers;
      for (const std::string& item : items_of(text)) {
        const auto number = to_number(item);
        if (!number) return {};
        numbers.push_back(*number);
      }
      return numbers.empty() ? Value{} : Value{numbers};
    }
    case Type::TextList:
      return items_of(text);
    default:
      return unquoted(text);
  }
}

bool is_within(const Value& value, const Range& range) {
  const auto fits = [&](double number) { return number >= range.low && number <= range.high; };  // false for NaN
  if (const auto* whole = std::get_if<int64_t>(&value)) return fits(static_cast<double>(*whole));
  if (const auto* number = std::get_if<double>(&value)) return fits(*number);
  if (const auto* numbers = std::get_if<std::vector<double>>(&value))
    return std::all_of(numbers->begin(), numbers->end(), fits);
  return true;
}

std::string short_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

// Stores one "key=value"; returns the problem, or "".
std::string read_one(const std::string& item, const std::vector<Option>& rows, Values& values) {
  const size_t equals = item.find('=');
  if (equals == std::string::npos || item.find('=', equals + 1) != std::string::npos) {
    return "\"" + item + "\": expected one key=value (for example \"" + (rows.empty() ? "key" : rows.front().name) +
           "=...\")";
  }
  const std::string key = base::trimmed(item.substr(0, equals));
  const std::string text = base::trimmed(item.substr(equals + 1));
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Option& candidate) {
    return candidate.name == key ||
           std::find(candidate.aliases.begin(), candidate.aliases.end(), key) != candidate.aliases.end();
  });
  if (row == rows.end()) {
    std::vector<std::string> names;
    std::string known;
    for (const Option& candidate : rows) {
      names.push_back(candidate.name);
      known += (known.empty() ? "" : ", ") + candidate.name;
    }
    const std::string near = base::nearest_name(key, names);
    return key + " is not known here" + (near.empty() ? "." : "; did you mean \"" + near + "\"?") +
           " Known: " + (known.empty() ? "none" : known);
  }
  if (text == "None") {
    values.set(row->name, {});
    return "";
  }
  const Value value = parse(text, *row);
  if (value.index() == 0) return row->name + " = \"" + text + "\": expected " + expected_form(*row);
  if (row->range && !is_within(value, *row->range)) {
    return row->name + " = " + text + ": expected " + short_number(row->range->low) + " to " +
           short_number(row->range->high);
  }
  const auto* word = std::get_if<std::string>(&value);
  if (word != nullptr && !row->choices.empty() &&
      std::find(row->choices.begin(), row->choices.end(), *word) == row->choices.end()) {
    std::string allowed;
    for (const std::string& choice : row->choices) allowed += (allowed.empty() ? "" : ", ") + choice;
    return row->name + " = \"" + *word + "\": expected one of " + allowed;
  }
  values.set(row->name, value);
  return "";
}

}  // namespace

void add_fallbacks(Values& values, const std::vector<Option>& rows) {
  for (const Option& row : rows) {
    if (!values.has(row.name)) values.set(row.name, row.fallback);
  }
}

Values read_key_values(const std::string& list_name, const std::vector<std::string>& texts,
                       const std::vector<Option>& rows) {
  Values values;
  std::string problems;
  for (const Option& row : rows) values.set(row.name, row.fallback);
  for (const std::string& text : texts) {
    const std::string problem = read_one(text, rows, values);
    if (!problem.empty()) problems += (problems.empty() ? "" : "\n") + list_name + ": " + problem;
  }
  if (!problems.empty()) throw base::Error(base::ErrorCode::Config, problems);
  return values;
}

}  // namespace cinnabar::schema
