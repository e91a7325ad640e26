#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/json_tree.h"

#include "cinnabar/schema/json_value.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/source.h"

namespace cinnabar::schema {

namespace {

constexpr size_t kMaxConfigBytes = 4 << 20;

bool is_json(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string::npos && text[first] == '{';
}

}  // namespace

Source read_config_file(const Schema& schema, const std::filesystem::path& path, Problems& problems) {
  std::filesystem::path found = path;
  if (!std::filesystem::exists(found) && std::filesystem::exists(path.string() + ".toml")) found += ".toml";
  if (!std::filesystem::exists(found)) {
    throw base::Error(base::ErrorCode::Config, "config_file = " + path.string() +
                                                   ": no such file; expected a TOML file, a kohya_ss "
                                                   "JSON, or a configuration that this program wrote");
  }
  if (std::filesystem::is_directory(found)) {
    throw base::Error(base::ErrorCode::Config,
                      "config_file = " + path.string() + ": this is a folder; expected a file");
  }
  const std::string text = base::read_file(found, kMaxConfigBytes);
  const std::string name = found.filename().string();
  Source source;
  if (!is_json(text)) {
    read_toml(schema, text, name, source, problems);
  } else if (text.find("\"cinnabar_config\"") != std::string::npos) {
    read_own_json(schema, text, name, source, problems);
  } else {
    read_kohya_json(schema, text, name, source, problems);
  }
  return source;
}

void read_own_json(const Schema& schema, const std::string& text, const std::string& name, Source& source,
                   Problems& problems) {
  nlohmann::ordered_json json;
  const auto fault = base::read_json_tree(text, json, {.keys = kMaxConfigKeys});
  if (fault || !json.contains("values") || !json["values"].is_object()) {
    throw base::Error(base::ErrorCode::Config,
                      name + ": no readable configuration: expected JSON with a table \"values\"" +
                          (fault ? "; found: " + fault->reason : std::string()));
  }
  for (const auto& [key, value] : json["values"].items()) {
    const Option* option = schema.find(key);
    if (option == nullptr) {
      problems.add({name, key, json_text(value), unknown_option_text(schema, key)});
      continue;
    }
    const base::Result<Value> parsed = value_from_json(*option, value);
    if (parsed) {
      source.values[option->name] = {parsed.value(), name, json_text(value)};
    } else {
      problems.add({name, key, json_text(value), parsed.error().message()});
    }
  }
}

}  // namespace cinnabar::schema
