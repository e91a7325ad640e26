#include "cinnabar/schema/json_value.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

using base::Result;
using nlohmann::ordered_json;

// A scalar as the command line would have it; nothing for lists and tables.
std::optional<std::string> scalar_text(const ordered_json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>() ? "true" : "false";
  if (json.is_number_unsigned()) return std::to_string(json.get<uint64_t>());
  if (json.is_number_integer()) return std::to_string(json.get<int64_t>());
  if (json.is_number()) return number_text(json.get<double>());
  return std::nullopt;
}

Result<Value> from_number(const Option& option, const ordered_json& json) {
  const double number = json.get<double>();
  if (!std::isfinite(number)) return expected(option);
  const bool is_whole = json.is_number_integer();
  // get<int64_t>() would make a negative number of it.
  const bool is_beyond = json.is_number_unsigned() && json.get<uint64_t>() > std::numeric_limits<int64_t>::max();
  if (is_beyond) return expected(option);
  switch (option.type) {
    case Type::Flag:
      if (number == 0.0 || number == 1.0) return Value(number == 1.0);
      return expected(option);
    case Type::Int:
      if (is_whole) return Value(json.get<int64_t>());
      if (number == std::floor(number) && std::abs(number) < 1e15) return Value(static_cast<int64_t>(number));
      return expected(option);
    case Type::Float:
      return is_whole ? Value(json.get<int64_t>()) : Value(number);
    case Type::Steps:
      if (is_whole && number >= 0) return Value(json.get<int64_t>());
      if (!is_whole && number >= 0.0 && number < 1.0) return Value(number);
      return expected(option);
    default:
      return parse_value(option, *scalar_text(json));
  }
}

Result<Value> from_list(const Option& option, const ordered_json& json) {
  std::vector<std::string> texts;
  for (const ordered_json& item : json) {
    const std::optional<std::string> text = scalar_text(item);
    if (!text) return expected(option);
    texts.push_back(*text);
  }
  if (option.type == Type::TextList || option.type == Type::FloatList) return parse_values(option, texts);
  if (option.type == Type::Size && texts.size() == 2) return parse_value(option, texts[0] + "," + texts[1]);
  return expected(option);
}

}  // namespace

Result<Value> value_from_json(const Option& option, const ordered_json& json) {
  if (json.is_null()) return Value{};
  if (json.is_array()) return from_list(option, json);
  if (json.is_object() || json.is_binary()) return expected(option);
  if (json.is_number()) return from_number(option, json);
  if (json.is_boolean()) return option.type == Type::Flag ? Result<Value>(Value(json.get<bool>())) : expected(option);
  return parse_value(option, json.get<std::string>());
}

std::string json_text(const ordered_json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_float()) return number_text(json.get<double>());
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace cinnabar::schema
