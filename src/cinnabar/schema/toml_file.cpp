#include <algorithm>
#include <nlohmann/json.hpp>

#include "cinnabar/schema/escape_hint.h"
#include "cinnabar/schema/json_value.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/source.h"
#include "cinnabar/schema/toml_limits.h"
#include "cinnabar/schema/toml_parser.h"

namespace cinnabar::schema {

namespace {

using nlohmann::ordered_json;

// Keys that the kohya_ss GUI writes into its TOML files and that no script of the reference reads.
bool is_gui_leftover(const std::string& key) {
  return key == "epoch" || key == "noise_offset_type" || key == "train_inpainting";
}

// Dates and deeper tables become null inside a list and fail later with the option's own message.
ordered_json node_to_json(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  ordered_json list = ordered_json::array();
  if (const auto* items = node.as_array()) {
    for (const toml::node& item : *items) list.push_back(item.is_array() ? ordered_json() : node_to_json(item));
    return list;
  }
  return ordered_json::object();
}

class TableReader {
 public:
  TableReader(const Schema& schema, std::string name, Source& source, Problems& problems)
      : schema_(schema), name_(std::move(name)), source_(source), problems_(problems) {}

  void read(const toml::table& table, bool is_section) {
    // toml++ sorts keys; of a key that stands in two sections the later one counts, as in sd-scripts.
    std::vector<std::pair<std::string, const toml::node*>> entries;
    for (const auto& [key, node] : table) entries.emplace_back(key.str(), &node);
    std::ranges::stable_sort(entries, {}, [](const auto& entry) { return entry.second->source().begin.line; });
    for (const auto& [key, node] : entries) {
      if (const toml::table* section = node->as_table(); section != nullptr && !is_section) {
        read(*section, true);
      } else {
        read_one(key, *node);
      }
    }
  }

 private:
  void read_one(const std::string& key, const toml::node& node) {
    const std::string where = name_ + ":" + std::to_string(node.source().begin.line);
    const ordered_json json = node_to_json(node);
    const std::string shown = is_secret_option(key) ? "[hidden]" : json_text(json);
    if (const Option* option = schema_.find(key)) {
      const base::Result<Value> value = value_from_json(*option, json);
      if (value) {
        if (const auto before = source_.values.find(option->name); before != source_.values.end()) {
          source_.notices.push_back(where + ": " + key + " = " + shown + " counts; it stands at " +
                                    before->second.where + ", too (" + before->second.text + ").");
        }
        source_.values[option->name] = {value.value(), where, shown};
      } else {
        problems_.add({where, key, shown, value.error().message()});
      }
    } else if (find_planned(key) != nullptr) {
      if (!is_gui_leftover(key) || shown != "false") source_.planned[key] = {shown, where, shown};
    } else if (key == "datasets" || key == "general") {
      problems_.add(
          {where, key, "", "this describes a data set, not a run: a file of that kind is what dataset_config takes"});
    } else if (!is_gui_leftover(key)) {
      problems_.add({where, key, shown, problems_.is_full() ? "unknown option" : unknown_option_text(schema_, key)});
    }
  }

  const Schema& schema_;
  const std::string name_;
  Source& source_;
  Problems& problems_;
};

}  // namespace

void read_toml(const Schema& schema, const std::string& text, const std::string& name, Source& source,
               Problems& problems) {
  toml::table table;
  try {
    check_toml(text, name, {.keys = kMaxConfigKeys});
    table = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw base::Error(base::ErrorCode::Config, name + ":" + std::to_string(error.source().begin.line) +
                                                   ": not valid TOML: " + std::string(error.description()) +
                                                   escape_hint(line_of(text, error.source().begin.line)));
  }
  const bool is_dataset = table.contains("datasets") && table["datasets"].is_array_of_tables();
  if (is_dataset) {
    problems.add(
        {name, "", "", "this describes a data set, not a run: a file of that kind is what dataset_config takes"});
    return;
  }
  TableReader(schema, name, source, problems).read(table, false);
}

}  // namespace cinnabar::schema
