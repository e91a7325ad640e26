#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "cinnabar/base/error.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/cli/command.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::cli {

namespace {

using nlohmann::ordered_json;

schema::Schema import_options() {
  const char* group = "Import";
  return schema::Schema(
      {{{.name = "file",
         .type = schema::Type::Path,
         .group = group,
         .label = "File",
         .help = "The configuration to read: a kohya_ss JSON, or a TOML file. May stand without its name.",
         .path = schema::PathKind::File,
         .is_positional = true},
        {.name = "json",
         .type = schema::Type::Flag,
         .fallback = false,
         .group = group,
         .label = "JSON",
         .help = "Prints the report as JSON, with every key."},
        {.name = "all",
         .type = schema::Type::Flag,
         .fallback = false,
         .group = group,
         .label = "All keys",
         .help = "Lists the keys that ask for nothing (unset), too."}}});
}

std::string shown(const std::string& name, const std::string& text) {
  return schema::is_secret_option(name) && !text.empty() ? std::string(schema::kHidden) : schema::without_secrets(text);
}

// A TOML file and a configuration of ours have no report of their own: every key goes where its name says.
void fill_report(schema::Source& source) {
  if (source.is_gui_file) return;
  for (const auto& [name, given] : source.values)
    source.report.push_back({name, shown(name, given.text), "used", name, ""});
  for (const auto& [name, given] : source.planned) {
    const schema::PlannedOption* option = schema::find_planned(name);
    const bool is_idle = option != nullptr && option->kind == schema::PlannedKind::NoEffect;
    const std::string why = option == nullptr ? "" : std::string(option->why);
    source.report.push_back({name, shown(name, given.text), is_idle ? "ignored" : "later", "",
                             is_idle ? why : "not supported yet" + (why.empty() ? "" : ": " + why)});
  }
}

ordered_json to_json(const schema::Source& source, const schema::Problems& problems) {
  ordered_json keys = ordered_json::array();
  for (const schema::ImportedKey& key : source.report) {
    ordered_json entry = {{"key", key.key}, {"value", key.value}, {"action", key.action}};
    if (!key.option.empty()) entry["option"] = key.option;
    if (!key.note.empty()) entry["note"] = key.note;
    keys.push_back(entry);
  }
  ordered_json options = ordered_json::object();
  for (const auto& [name, given] : source.values) options[name] = shown(name, given.text);
  ordered_json list = ordered_json::array();
  for (const schema::Problem& problem : problems.list()) list.push_back(schema::to_string(problem));
  return {{"keys", keys}, {"options", options}, {"notices", source.notices}, {"problems", list}};
}

std::string summary(const std::map<std::string, size_t>& counts) {
  const auto of = [&](const char* action) {
    const auto found = counts.find(action);
    return found == counts.end() ? size_t{0} : found->second;
  };
  return std::to_string(of("used")) + " used, " + std::to_string(of("renamed") + of("derived")) + " renamed, " +
         std::to_string(of("ignored")) + " without effect, " + std::to_string(of("later")) + " not supported, " +
         std::to_string(of("unknown")) + " unknown.";
}

void print_keys(const schema::Source& source, bool is_all, std::map<std::string, size_t>& counts) {
  for (const schema::ImportedKey& key : source.report) {
    ++counts[key.action];
    if (key.action == "unset" && !is_all) continue;
    std::string line = key.key + " = " + key.value + ": " + key.action;
    if (!key.option.empty() && key.option != key.key) line += " as " + key.option;
    if (!key.note.empty()) line += " (" + key.note + ")";
    std::cout << base::printable_text(line) << "\n";
  }
  if (const size_t unset = counts["unset"]; unset > 0 && !is_all)
    std::cout << unset << (unset == 1 ? " key is" : " keys are") << " unset and ask for nothing (--all lists them)\n";
}

// What the file does not name may stand on the command line; all else is wrong in the file.
bool is_missing(const schema::Problem& problem) { return problem.message.starts_with("missing: "); }

void print_report(const schema::Source& source, const schema::Problems& problems, bool is_all) {
  std::map<std::string, size_t> counts;
  print_keys(source, is_all, counts);
  for (const std::string& notice : source.notices) std::cout << "note: " << base::printable_text(notice) << "\n";
  if (problems.empty()) std::cout << "\nNothing stands against a run with these options.\n";
  for (const bool is_needed : {false, true}) {
    const char* title =
        is_needed ? "\nA run needs besides, for instance on the command line:\n" : "\nA run would stop at:\n";
    for (const schema::Problem& problem : problems.list()) {
      if (is_missing(problem) != is_needed) continue;
      std::cout << title << "  " << base::printable_text(schema::to_string(problem)) << "\n";
      title = "";
    }
  }
  std::cout << "\n" << summary(counts) << "\n";
}

int run_import(const std::vector<std::string>& words) {
  const schema::Config own = schema::read_config(import_options(), "import", words);
  const auto file = own.values.maybe_text("file");
  if (!file) throw base::Error(base::ErrorCode::Usage, "name the file to import: cinnabar import FILE");
  const schema::Schema schema = jobs::train_schema();
  schema::Problems problems;
  std::vector<schema::Source> sources;
  sources.push_back(schema::read_config_file(schema, *file, problems));
  if (!sources[0].more_arguments.empty()) {
    schema::Source more;
    schema::read_command_line(schema, sources[0].more_arguments, "additional_parameters", more, problems);
    sources.push_back(std::move(more));
  }
  const schema::Config config = schema::resolve(schema, "train", sources, problems);
  fill_report(sources[0]);
  // What only the whole configuration tells, such as the steps that the GUI would count.
  sources[0].notices = config.notices;
  const auto steps = config.origins.find("max_train_steps");
  if (steps != config.origins.end() && !sources[0].values.contains("max_train_steps") &&
      steps->second == sources[0].name) {
    const schema::Value& value = config.values.raw("max_train_steps");
    sources[0].values["max_train_steps"] = {value, steps->second, schema::value_text(value)};
  }
  if (own.values.flag("json")) {
    std::cout << to_json(sources[0], problems).dump(1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  } else {
    print_report(sources[0], problems, own.values.flag("all"));
  }
  const bool is_sound = std::ranges::all_of(problems.list(), is_missing);
  return is_sound ? 0 : base::exit_status(base::ErrorCode::Config);
}

CINNABAR_REGISTER_COMMAND(import, {.help = "Says what each key of a kohya_ss configuration becomes.",
                                   .usage = "FILE [--all] [--json]",
                                   .order = 50,
                                   .schema = import_options,
                                   .run = run_import});

}  // namespace

}  // namespace cinnabar::cli
