#include <nlohmann/json.hpp>

#include "cinnabar/schema/describe.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

using nlohmann::ordered_json;

// Text inside a table cell.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

void append_rows(std::string& out, const std::vector<Option>& options) {
  out += "| option | value | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const Option& option : options) {
    std::string name = code(option.name);
    for (const std::string& alias : option.aliases) name += ", " + code(alias);
    const std::string unit = option.unit.empty() ? "" : " (" + option.unit + ")";
    out += "| " + name + " | " + cell(expected_text(option)) + unit + " | " + code(value_text(option.fallback)) +
           " | " + cell(option.help) + " |\n";
  }
  out += "\n";
}

void append_table(std::string& out, const EntryTable& table) {
  if (table.selector.empty()) return;
  out += "### Values of " + code(table.selector) + "\n\n";
  for (const Entry& entry : table.entries) {
    out += "- " + code(entry.name) + ": " + entry.help + "\n";
  }
  out += "\n";
  if (table.arguments.empty()) return;
  for (const Entry& entry : table.entries) {
    if (entry.options.empty()) continue;
    out += "Keys of " + code(table.arguments) + " for " + code(entry.name) + ":\n\n";
    append_rows(out, entry.options);
  }
}

std::string kind_text(PlannedKind kind) {
  switch (kind) {
    case PlannedKind::Later:
    case PlannedKind::LaterHarmless:
      return "later";
    case PlannedKind::NoEffect:
      return "no effect";
  }
  return {};
}

const char* type_name(Type type) {
  constexpr const char* kNames[] = {"flag", "int", "float", "text", "path", "text_list", "float_list", "steps", "size"};
  return kNames[static_cast<size_t>(type)];
}

const char* level_name(Level level) {
  constexpr const char* kNames[] = {"basic", "advanced", "expert"};
  return kNames[static_cast<size_t>(level)];
}

const char* path_name(PathKind kind) {
  constexpr const char* kNames[] = {"any", "file", "folder", "file_or_folder"};
  return kNames[static_cast<size_t>(kind)];
}

ordered_json value_json(const Value& value) {
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

ordered_json option_json(const Option& option) {
  ordered_json json = {{"name", option.name},
                       {"type", type_name(option.type)},
                       {"group", option.group},
                       {"level", level_name(option.level)},
                       {"label", option.label},
                       {"help", option.help},
                       {"default", value_json(option.fallback)}};
  if (!option.aliases.empty()) json["aliases"] = option.aliases;
  if (option.range) json["range"] = {option.range->low, option.range->high};
  if (option.typical) json["typical"] = {option.typical->low, option.typical->high};
  if (!option.choices.empty()) json["choices"] = option.choices;
  if (!option.unit.empty()) json["unit"] = option.unit;
  if (!option.shown_if.empty()) json["shown_if"] = option.shown_if;
  if (option.type == Type::Path) json["path"] = path_name(option.path);
  if (option.is_positional) json["positional"] = true;
  if (option.is_repeatable) json["repeatable"] = true;
  if (option.is_for_front) json["front"] = true;
  return json;
}

ordered_json table_json(const EntryTable& table) {
  ordered_json entries = ordered_json::array();
  for (const Entry& entry : table.entries) {
    ordered_json options = ordered_json::array();
    for (const Option& option : entry.options) options.push_back(option_json(option));
    entries.push_back({{"name", entry.name}, {"help", entry.help}, {"options", options}});
  }
  return {{"kind", table.kind}, {"selector", table.selector}, {"arguments", table.arguments}, {"entries", entries}};
}

}  // namespace

std::string options_markdown(const std::vector<DescribedCommand>& commands) {
  std::string out =
      "# Options\n\nMade by `cinnabar schema --markdown`; a test fails when it is not current. On the command line an "
      "option is\n"
      "written `--name value`, in TOML and JSON `name`. Hyphens are accepted for underscores.\n\n";
  for (const DescribedCommand& command : commands) {
    out += "## cinnabar " + command.name + "\n\n" + command.help + "\n\n";
    for (const std::string& group : command.schema.groups()) {
      std::vector<Option> options;
      for (const Option& option : command.schema.options()) {
        if (option.group == group) options.push_back(option);
      }
      out += "### " + group + "\n\n";
      append_rows(out, options);
    }
    for (const EntryTable& table : command.schema.tables()) append_table(out, table);
  }
  out +=
      "## Known, but not supported yet or without effect\n\n"
      "Options of sd-scripts that this program knows by name. \"later\": an error says that it is not supported yet.\n"
      "\"no effect\": accepted with a notice.\n\n| option | state | part or reason |\n| --- | --- | --- |\n";
  for (const PlannedOption& option : planned_options()) {
    out += "| " + code(std::string(option.name)) + " | " + kind_text(option.kind) + " | " +
           cell(std::string(option.why)) + " |\n";
  }
  return out;
}

std::string schema_json(const std::vector<DescribedCommand>& commands) {
  ordered_json list = ordered_json::array();
  for (const DescribedCommand& command : commands) {
    ordered_json options = ordered_json::array();
    for (const Option& option : command.schema.options()) options.push_back(option_json(option));
    ordered_json tables = ordered_json::array();
    for (const EntryTable& table : command.schema.tables()) tables.push_back(table_json(table));
    list.push_back({{"name", command.name}, {"help", command.help}, {"options", options}, {"entries", tables}});
  }
  ordered_json planned = ordered_json::array();
  for (const PlannedOption& option : planned_options()) {
    planned.push_back({{"name", option.name}, {"state", kind_text(option.kind)}, {"why", option.why}});
  }
  return ordered_json{{"commands", list}, {"planned", planned}}.dump(1) + "\n";
}

}  // namespace cinnabar::schema
