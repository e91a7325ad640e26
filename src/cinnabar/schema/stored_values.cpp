#include "cinnabar/schema/stored_values.h"

#include <variant>

#include "cinnabar/schema/problem.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

template <class... Kinds>
bool is_any(const Value& value) {
  return (std::holds_alternative<Kinds>(value) || ...);
}

// Kinds of values that readers of such an option take (Values).
bool has_type(const Option& option, const Value& value) {
  switch (option.type) {
    case Type::Flag:
      return is_any<bool>(value);
    case Type::Int:
      return is_any<int64_t>(value);
    case Type::Float:
      return is_any<int64_t, double, std::vector<double>>(value);
    case Type::Steps:
      return is_any<int64_t, double>(value);
    case Type::Text:
    case Type::Path:
      return is_any<std::string>(value);
    case Type::Size:
      return is_any<std::string>(value) && parse_value(option, std::get<std::string>(value));
    case Type::TextList:
      return is_any<std::vector<std::string>>(value);
    case Type::FloatList:
      return is_any<std::vector<double>>(value);
  }
  return false;
}

}  // namespace

void check_stored_values(const Schema& schema, const Values& values) {
  Problems problems;
  for (const Option& option : schema.options()) {
    const Value& value = values.raw(option.name);
    if (value.index() == 0) continue;
    // An empty list has no kind of its own.
    const auto* texts = std::get_if<std::vector<std::string>>(&value);
    if (option.type == Type::FloatList && texts != nullptr && texts->empty()) continue;
    const std::string wrong =
        has_type(option, value) ? check_value(option, value) : "expected " + expected_text(option);
    if (!wrong.empty()) problems.add({"configuration", option.name, value_text(value), wrong});
  }
  problems.raise();
}

}  // namespace cinnabar::schema
