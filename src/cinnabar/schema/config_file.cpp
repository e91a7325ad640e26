#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/json_tree.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/schema/json_value.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/problem.h"
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
  std::error_code error;
  const bool is_short =
      !std::filesystem::exists(found, error) && std::filesystem::exists(path.string() + ".toml", error);
  if (is_short) found += ".toml";
  const bool is_missing = std::filesystem::status(found, error).type() == std::filesystem::file_type::not_found;
  if (is_missing && base::kind_of(found).empty()) {
    throw base::Error(base::ErrorCode::Config, "config_file = " + base::shown_text(path.string(), kShownBytes) +
                                                   ": no such file; expected a TOML file, a kohya_ss "
                                                   "JSON, or a configuration that this program wrote");
  }
  if (const std::string why = base::why_no_file(found); !why.empty()) {
    const bool is_pictures = schema.find("train_data_dir") != nullptr && std::filesystem::is_directory(found, error);
    throw base::Error(base::ErrorCode::Config,
                      "config_file = " + base::shown_text(path.string(), kShownBytes) + ": " + why +
                          (is_pictures ? ". A folder of pictures is given as --train_data_dir FOLDER" : ""));
  }
  if (const std::string ending = found.extension().string(); ending == ".yaml" || ending == ".yml") {
    throw base::Error(base::ErrorCode::Config,
                      "config_file = " + base::shown_text(path.string(), kShownBytes) +
                          ": YAML is not read; expected a TOML file, a kohya_ss JSON, or a configuration that this "
                          "program wrote. Write its options as TOML, one a line: network_dim = 16");
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
  if (const auto version = json.find("cinnabar_config"); version == json.end() || *version != 1) {
    const std::string found = version == json.end() ? "none" : json_text(*version);
    throw base::Error(base::ErrorCode::Config, name + ": cinnabar_config = " + found +
                                                   ": expected 1; a newer version of the program may have written it: "
                                                   "read it with that version");
  }
  for (const auto& [key, value] : json["values"].items()) {
    const Option* option = schema.find(key);
    if (option == nullptr) {
      problems.add(
          {name, key, json_text(value), problems.is_full() ? "unknown option" : unknown_option_text(schema, key)});
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
