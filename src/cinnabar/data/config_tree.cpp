#include "cinnabar/data/config_tree.h"

#include <algorithm>
#include <string_view>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/json_tree.h"
#include "cinnabar/schema/escape_hint.h"
#include "cinnabar/schema/toml_limits.h"
#include "cinnabar/schema/toml_parser.h"

namespace cinnabar::data {

namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxBytes = 4 << 20;

std::string escaped(std::string_view key) {
  std::string result;
  for (const char c : key) result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return result;
}

// Dates stay null and fail later as a value of the wrong type.
ordered_json to_json(const toml::node& node, const std::string& pointer, std::map<std::string, int64_t>& lines) {
  lines[pointer] = static_cast<int64_t>(node.source().begin.line);
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* items = node.as_array()) {
    ordered_json list = ordered_json::array();
    for (size_t i = 0; i < items->size(); ++i) {
      list.push_back(to_json((*items)[i], pointer + "/" + std::to_string(i), lines));
    }
    return list;
  }
  if (const auto* table = node.as_table()) {
    // toml++ sorts keys; messages follow the file.
    std::vector<std::pair<std::string, const toml::node*>> entries;
    for (const auto& [key, value] : *table) entries.emplace_back(key.str(), &value);
    std::ranges::stable_sort(entries, {}, [](const auto& entry) { return entry.second->source().begin.line; });
    // Keys of a table differ, so none has to be looked for among those before it.
    ordered_json::object_t object;
    for (const auto& [key, value] : entries)
      object.emplace_back(key, to_json(*value, pointer + "/" + escaped(key), lines));
    return object;
  }
  return nullptr;
}

ConfigTree parse_toml(const std::string& text, const std::string& name) {
  ConfigTree tree{.name = name};
  try {
    schema::check_toml(text, name);
    const toml::table table = toml::parse(text, name);
    tree.root = to_json(table, "", tree.lines);
  } catch (const toml::parse_error& error) {
    const int64_t line = error.source().begin.line;
    throw base::Error(base::ErrorCode::Config, name + ":" + std::to_string(line) +
                                                   ": not valid TOML: " + std::string(error.description()) +
                                                   schema::escape_hint(schema::line_of(text, line)));
  }
  return tree;
}

ConfigTree parse_json(const std::string& text, const std::string& name) {
  ConfigTree tree{.name = name};
  const auto fault = base::read_json_tree(text, tree.root);
  if (!fault) return tree;
  if (!fault->byte) throw base::Error(base::ErrorCode::Config, name + ": " + fault->reason);
  const size_t at = std::min(*fault->byte, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n');
  throw base::Error(base::ErrorCode::Config, name + ":" + std::to_string(line) + ": " + fault->reason +
                                                 schema::escape_hint(schema::line_at(text, at)));
}

}  // namespace

std::string ConfigTree::where(const std::string& pointer) const {
  const auto found = lines.find(pointer);
  return found == lines.end() ? name : name + ":" + std::to_string(found->second);
}

ConfigTree read_config_tree(const std::filesystem::path& path) {
  return parse_config_tree(base::read_file(path, kMaxBytes), path.filename().string());
}

ConfigTree parse_config_tree(const std::string& text, const std::string& name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string body = text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
  const size_t first = body.find_first_not_of(" \t\r\n");
  return first != std::string::npos && body[first] == '{' ? parse_json(body, name) : parse_toml(body, name);
}

}  // namespace cinnabar::data
