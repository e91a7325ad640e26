#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"

#include <algorithm>

#include "cinnabar/schema/json_value.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/source.h"

namespace cinnabar::schema {

namespace {

constexpr size_t kMaxConfigBytes = 4 << 20;
constexpr int kMaxDepth = 64;

// Strings may hold brackets; only those outside count.
class NestingScan {
 public:
  void take(char c) {
    if (quote_ != 0) {
      if (is_escaped_) {
        is_escaped_ = false;
      } else if (c == '\\' && quote_ == '"') {
        is_escaped_ = true;
      } else if (c == quote_ || c == '\n') {
        quote_ = 0;
      }
      return;
    }
    if (c == '"' || c == '\'') quote_ = c;
    if (c == '[' || c == '{') deepest_ = std::max(deepest_, ++depth_);
    if (c == ']' || c == '}') --depth_;
    // Dotted keys nest tables as well; numbers have dots, too, but a comma or an equal sign between.
    if (c == '\n' || c == ',' || c == '=') dots_ = 0;
    if (c == '.') deepest_ = std::max(deepest_, ++dots_);
  }
  int deepest() const { return deepest_; }

 private:
  char quote_ = 0;
  bool is_escaped_ = false;
  int depth_ = 0;
  int dots_ = 0;
  int deepest_ = 0;
};

bool is_json(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string::npos && text[first] == '{';
}

}  // namespace

void check_nesting(const std::string& text, const std::string& name) {
  // Numbers in long lists have dots, too: JSON nests by brackets alone.
  const bool counts_dots = !is_json(text);
  NestingScan scan;
  for (const char c : text) {
    if (c != '.' || counts_dots) scan.take(c);
  }
  if (scan.deepest() > kMaxDepth) {
    throw base::Error(base::ErrorCode::Config, name + ": lists or tables nest deeper than " +
                                                   std::to_string(kMaxDepth) + " levels; configurations are flat");
  }
}

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
  check_nesting(text, name);
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
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.contains("values") || !json["values"].is_object()) {
    throw base::Error(base::ErrorCode::Config,
                      name + ": no readable configuration: expected JSON with a table \"values\"");
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
