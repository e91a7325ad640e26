#include "cinnabar/schema/resolve.h"

#include <algorithm>
#include <filesystem>

#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/schema/escape_hint.h"
#include "cinnabar/schema/key_values.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/problem.h"
#include "cinnabar/schema/run_length_rules.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

using GivenMap = std::map<std::string, Given>;

GivenMap merge(const std::vector<Source>& sources, GivenMap Source::* part) {
  GivenMap merged;
  for (const Source& source : sources) {
    for (const auto& [name, given] : source.*part) merged[name] = given;
  }
  return merged;
}

// Asks for nothing: off, empty, or the reference's own default.
bool is_idle(const Given& given, const PlannedOption& option) {
  const std::string& text = given.text;
  if (text.empty() || text == "false" || text == "False" || text == "none" || text == "[]") return true;
  if (text == option.fallback) return true;
  const auto number = parse_number(text);
  const auto fallback = parse_number(option.fallback);
  return number && fallback && *number == *fallback;
}

void check_planned(const GivenMap& planned, bool has_gui_file, Config& config, Problems& problems) {
  for (const auto& [name, given] : planned) {
    const PlannedOption* option = find_planned(name);
    if (option == nullptr || is_idle(given, *option)) continue;
    const std::string why(option->why);
    if (option->kind == PlannedKind::NoEffect) {
      config.notices.push_back(name + " has no effect: " + why + ".");
    } else if (option->kind == PlannedKind::LaterHarmless && has_gui_file && given.where != "command line") {
      config.notices.push_back(name + " is not supported yet (" + why + "); the result does not depend on it.");
    } else {
      problems.add({given.where, name, is_secret_option(name) ? "[hidden]" : given.text,
                    "not supported yet (" + why + "); leave it out"});
    }
  }
}

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

class Checker {
 public:
  Checker(const Schema& schema, const GivenMap& given, Config& config, Problems& problems)
      : schema_(schema), given_(given), values_(config.values), notices_(config.notices), problems_(problems) {}

  void run() {
    for (const Option& option : schema_.options()) check_option(option);
    for (const EntryTable& table : schema_.tables()) check_table(table);
  }

 private:
  void add(const std::string& name, const std::string& message) {
    const auto found = given_.find(name);
    const bool is_given = found != given_.end();
    problems_.add({is_given ? found->second.where : "", name,
                   is_given ? found->second.text : value_text(values_.raw(name)), message});
  }

  void check_option(const Option& option) {
    const Value& value = values_.raw(option.name);
    if (value.index() == 0) return;
    const std::string wrong = check_value(option, value);
    if (!wrong.empty()) {
      const bool is_later = is_planned_value(option.name, value_text(value));
      add(option.name, is_later ? "not supported yet: " + wrong : wrong);
    }
    if (option.type == Type::Path) check_path(option, value_text(value));
  }

  void check_path(const Option& option, const std::string& text) {
    if (const std::string odd = control_character_problem(text); !odd.empty()) return add(option.name, odd);
    if (option.path == PathKind::Any) return;
    if (option.accepts_embedded && text == "embedded") return;
    if (option.name == "config_file") return;  // was read already
    std::error_code error;
    // A configuration may be written for another machine.
    if (values_.flag("output_config") && !std::filesystem::exists(text, error)) {
      return notices_.push_back(option.name + " = " + text + " is not on this machine; it is written as it stands.");
    }
    const auto status = std::filesystem::status(text, error);
    const bool is_folder = std::filesystem::is_directory(status);
    if (error && status.type() == std::filesystem::file_type::none) return add(option.name, base::why_no_file(text));
    if (!std::filesystem::exists(status)) {
      const char* wanted = option.path == PathKind::Folder ? "a folder"
                           : option.path == PathKind::File ? "a file"
                                                           : "a file or folder";
      std::string message =
          "no such " + std::string(option.path == PathKind::Folder ? "folder" : "file") + "; expected " + wanted;
      if (option.path == PathKind::FileOrFolder) message += " on this machine (names on a model hub are not fetched)";
      if (option.accepts_embedded) message += ", or embedded";
      add(option.name, message);
    } else if (option.path == PathKind::Folder && !is_folder) {
      add(option.name, status.type() == std::filesystem::file_type::regular
                           ? "this is a file; expected a folder"
                           : "this is " + base::kind_of(text) + "; expected a folder");
    } else if (option.path == PathKind::File || (option.path == PathKind::FileOrFolder && !is_folder)) {
      if (const std::string why = base::why_no_file(text); !why.empty()) add(option.name, why);
    }
  }

  void check_table(const EntryTable& table) {
    if (table.selector.empty() || !values_.has(table.selector)) return;
    const std::string name = values_.text(table.selector);
    const Entry* entry = table.find(name);
    if (entry == nullptr) {
      const std::vector<std::string> names = table.names();
      const std::string near = base::nearest_name(name, names);
      const bool is_later = is_planned_value(table.selector, name);
      add(table.selector, is_later ? "not supported yet; known: " + list_text(names)
                          : near.empty()
                              ? "unknown " + table.kind + "; known: " + list_text(names)
                              : "unknown " + table.kind + "; did you mean " + near + "? Known: " + list_text(names));
      return;
    }
    if (table.arguments.empty() || !values_.has(table.arguments)) return;
    if (!table.arguments_unless.empty() && values_.has(table.arguments_unless)) return;
    try {
      read_key_values(table.arguments, values_.texts(table.arguments), entry->options);
    } catch (const base::Error& error) {
      add_argument_problems(table.arguments, error.message());
    }
  }

  // One line a problem, each beginning with the list's name.
  void add_argument_problems(const std::string& list, const std::string& text) {
    const std::string where = given_.contains(list) ? given_.at(list).where : "";
    size_t start = 0;
    while (start < text.size()) {
      const size_t end = std::min(text.find('\n', start), text.size());
      problems_.add({where, "", "", text.substr(start, end - start)});
      start = end + 1;
    }
  }

  const Schema& schema_;
  const GivenMap& given_;
  const Values& values_;
  std::vector<std::string>& notices_;
  Problems& problems_;
};

}  // namespace

Config resolve(const Schema& schema, const std::string& command, const std::vector<Source>& sources,
               Problems& problems) {
  Config config{.command = command};
  bool has_gui_file = false;
  for (const Source& source : sources) {
    has_gui_file = has_gui_file || source.is_gui_file;
    config.notices.insert(config.notices.end(), source.notices.begin(), source.notices.end());
    for (const auto& [name, text] : source.attachments) config.attachments[name] = text;
  }
  GivenMap given = merge(sources, &Source::values);
  for (std::string& notice : settle_length(schema, sources, given)) config.notices.push_back(std::move(notice));
  for (const Option& option : schema.options()) {
    const auto found = given.find(option.name);
    if (found != given.end()) config.origins[option.name] = found->second.where;
    const Value& value = found == given.end() ? option.fallback : found->second.value;
    if (value.index() != 0) config.values.set(option.name, value);
    // A file that the user names counts over a text that a configuration brings.
    if (found != given.end()) config.attachments.erase(option.name);
  }
  check_planned(merge(sources, &Source::planned), has_gui_file, config, problems);
  Checker(schema, given, config, problems).run();
  cross_check(config, given, problems);
  check_early_paths(config, given, problems);
  for (std::string& notice : idle_options(schema, config, given)) config.notices.push_back(std::move(notice));
  for (std::string& notice : run_notes(config, given)) config.notices.push_back(std::move(notice));
  return config;
}

namespace {

// "--output_config FILE" names the file to write; config_file is then what is read. sd-scripts has a bare switch, whose
// file is config_file. Takes the name out of `words`.
std::string take_output_file(const Schema& schema, std::vector<std::string>& words) {
  const Option* option = schema.find("output_config");
  if (option == nullptr) return {};
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    std::string word = words[i].substr(0, words[i].find('='));
    std::replace(word.begin(), word.end(), '-', '_');
    if (word != "__output_config") continue;
    if (word.size() < words[i].size()) {
      const std::string file = words[i].substr(word.size() + 1);
      if (file.empty() || parse_values(*option, {file})) continue;
      words[i] = "--output_config";
      return file;
    }
    if (i + 1 == words.size() || words[i + 1].empty() || words[i + 1].front() == '-') continue;
    const std::string file = words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return file;
  }
  return {};
}

// A bare --output_config writes to config_file. One that is there is what the user wants converted, so that nothing in
// it is asked for as missing.
void refuse_existing_target(const std::string& file) {
  std::filesystem::path path = file;
  if (!path.has_extension()) path += ".toml";
  const std::string kind = base::kind_of(path);
  if (kind.empty()) return;
  throw base::Error(base::ErrorCode::Config,
                    "output_config: " + base::shown_text(path.string(), kShownBytes) + " exists already (" + kind +
                        "), and without a name of its own --output_config writes there. To convert it, name the new "
                        "file: --config_file " +
                        base::shown_text(path.string(), kShownBytes) + " --output_config NEW.toml");
}

}  // namespace

Config read_config(const Schema& schema, const std::string& command, const std::vector<std::string>& given_words) {
  Problems problems;
  Source line;
  std::vector<std::string> words = given_words;
  const std::string output_file = take_output_file(schema, words);
  read_command_line(schema, words, "command line", line, problems);
  std::vector<Source> sources;
  const auto file = line.values.find("config_file");
  const bool is_target = output_file.empty() && line.values.contains("output_config");
  if (file != line.values.end() && is_target) refuse_existing_target(std::get<std::string>(file->second.value));
  if (file != line.values.end() && !is_target) {
    sources.push_back(read_config_file(schema, std::get<std::string>(file->second.value), problems));
    if (!sources.back().more_arguments.empty()) {
      Source more;
      read_command_line(schema, sources.back().more_arguments, "additional_parameters", more, problems);
      sources.push_back(std::move(more));
    }
  }
  if (!output_file.empty()) line.values["config_file"] = {output_file, "command line", output_file};
  sources.push_back(std::move(line));
  Config config = resolve(schema, command, sources, problems);
  problems.raise();
  return config;
}

}  // namespace cinnabar::schema
