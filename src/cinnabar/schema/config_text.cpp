#include "cinnabar/schema/config_text.h"

#include <nlohmann/json.hpp>

#include "cinnabar/base/json_tree.h"
#include "cinnabar/schema/source.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Value& value) {
  return std::visit(
      [](const auto& held) -> ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

Value from_json(const ordered_json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    if (!json.empty() && json.front().is_number()) return json.get<std::vector<double>>();
    return json.get<std::vector<std::string>>();
  }
  return {};
}

bool is_written(const Option& option, const Value& value) {
  if (value.index() == 0 || option.is_for_front) return false;
  // An empty list reads back as either kind of list: the same as absent.
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  return !(texts != nullptr && texts->empty()) && !(numbers != nullptr && numbers->empty());
}

// JSON's escapes are TOML's, too (basic strings), but for DEL, which may not stand bare.
std::string toml_text(const std::string& text) {
  std::string result = ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  for (size_t at = result.find('\x7f'); at != std::string::npos; at = result.find('\x7f'))
    result.replace(at, 1, "\\u007F");
  return result;
}

std::string toml_value(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return toml_text(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    std::string list;
    for (const std::string& text : *texts) list += (list.empty() ? "" : ", ") + toml_text(text);
    return "[" + list + "]";
  }
  return value_text(value);
}

}  // namespace

std::string config_json(const Schema& schema, const Config& config) {
  ordered_json values = ordered_json::object();
  for (const Option& option : schema.options()) {
    const Value& value = config.values.raw(option.name);
    if (is_written(option, value)) values[option.name] = to_json(value);
  }
  const ordered_json json = {{"cinnabar_config", 1}, {"command", config.command}, {"values", values}};
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string config_toml(const Schema& schema, const Config& config) {
  std::string text;
  for (const Option& option : schema.options()) {
    const Value& value = config.values.raw(option.name);
    if (is_written(option, value)) text += option.name + " = " + toml_value(value) + "\n";
  }
  return text;
}

Config parse_config_json(const std::string& text) {
  ordered_json json;
  const bool is_read = !base::read_json_tree(text, json, {.keys = kMaxConfigKeys});
  const bool is_config = is_read && json.is_object() && json.contains("cinnabar_config") &&
                         json["cinnabar_config"] == 1 && json.contains("command") && json.contains("values") &&
                         json["command"].is_string() && json["values"].is_object();
  if (!is_config) {
    throw base::Error(base::ErrorCode::Format,
                      "the configuration is not readable: expected JSON with \"cinnabar_config\": 1, "
                      "\"command\" and \"values\", as this program writes it");
  }
  Config config{.command = json["command"].get<std::string>()};
  try {
    for (const auto& [name, value] : json["values"].items()) config.values.set(name, from_json(value));
  } catch (const ordered_json::exception&) {
    throw base::Error(base::ErrorCode::Format, "the configuration is not readable: a list mixes kinds of values");
  }
  return config;
}

}  // namespace cinnabar::schema
