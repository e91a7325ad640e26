#include <algorithm>
#include <iostream>
#include <set>

#include "cinnabar/cli/command.h"
#include "cinnabar/cli/flag_option.h"
#include "cinnabar/cli/runs_actions.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

struct Action {
  const char* name;
  int (*run)(jobs::RunStore&, const schema::Values&);
  std::set<std::string> options;  // besides workspace and json
  bool takes_runs;
};

const std::vector<Action>& actions() {
  static const std::vector<Action> all = {{"list", list_runs, {"state", "bin", "limit"}, false},
                                          {"show", show_run, {"toml", "series"}, true},
                                          {"tail", tail_run, {"lines"}, true},
                                          {"rename", rename_run, {}, true},
                                          {"remove", remove_runs, {"empty_bin"}, true},
                                          {"restore", restore_runs, {}, true}};
  return all;
}

std::vector<schema::Option> action_rows() {
  const char* group = "Runs";
  return {
      {.name = "action",
       .type = schema::Type::Text,
       .fallback = "list",
       .choices = {"list", "show", "tail", "resume", "rename", "remove", "restore"},
       .group = group,
       .label = "Action",
       .help =
           "What to do: list all runs, show one, tail its events while it goes on, resume it, rename it, remove runs "
           "to the bin or restore them from there. May stand without its name.",
       .is_positional = true},
      {.name = "run",
       .type = schema::Type::TextList,
       .group = group,
       .label = "Runs",
       .help = "The id of a run or its first digits, its name, the name of its folder, or latest. For rename, the new "
               "name follows; for resume, options that shall differ. May stand without its name.",
       .is_positional = true}};
}

std::vector<schema::Option> list_rows() {
  const char* group = "Runs";
  return {{.name = "state",
           .type = schema::Type::Text,
           .choices = {"running", "done", "interrupted", "failed", "crashed"},
           .group = group,
           .label = "State",
           .help = "Lists only runs in this state."},
          {.name = "limit",
           .type = schema::Type::Int,
           .fallback = 20,
           .range = {{0, 1000000}},
           .group = group,
           .label = "Limit",
           .help = "Lists the newest so many runs; 0 lists all of them."},
          flag_option("Runs", "bin", "Bin", "Lists the runs in the bin."),
          flag_option("Runs", "toml", "TOML", "Shows the options of the run as a TOML file."),
          {.name = "series",
           .type = schema::Type::Text,
           .group = group,
           .label = "Series",
           .help = "Shows one series of measurements of the run, such as loss: a line with step and value each."},
          {.name = "lines",
           .type = schema::Type::Int,
           .fallback = 10,
           .range = {{0, 1000000}},
           .group = group,
           .label = "Lines",
           .help = "Begins with the last so many events of the run."},
          flag_option("Runs", "empty_bin", "Empty the bin", "Deletes the records in the bin for good."),
          {.name = "workspace",
           .type = schema::Type::Path,
           .group = group,
           .label = "Workspace",
           .help = "The folder that holds the runs; the default is cinnabar in the user's data folder."},
          flag_option("Runs", "json", "JSON", "Prints JSON.")};
}

schema::Schema runs_options() { return schema::Schema({action_rows(), list_rows()}); }

// An option of another action would do nothing: better to say so.
void check_options(const Action& action, const schema::Config& config) {
  for (const auto& [name, where] : config.origins) {
    const bool is_common = name == "action" || name == "workspace" || name == "json";
    if (is_common || action.options.contains(name) || (name == "run" && action.takes_runs)) continue;
    std::string fitting;
    for (const Action& other : actions()) {
      if (other.options.contains(name)) fitting = std::string("; it belongs to runs ") + other.name;
    }
    throw base::Error(base::ErrorCode::Usage, name + " has no meaning for runs " + action.name + fitting);
  }
}

int run_runs(const std::vector<std::string>& words) {
  if (!words.empty() && words.front() == "resume") return resume_run({words.begin() + 1, words.end()});
  const schema::Config config = schema::read_config(runs_options(), "runs", words);
  const std::string name = config.values.text("action");
  const auto action = std::find_if(actions().begin(), actions().end(), [&](const Action& a) { return name == a.name; });
  if (action == actions().end()) {
    throw base::Error(base::ErrorCode::Usage,
                      "the word resume comes first: cinnabar runs resume RUN [--OPTION VALUE ...]");
  }
  check_options(*action, config);
  jobs::RunStore store(workspace_of(config.values), tell_at_once);
  const int status = action->run(store, config.values);
  print_notes(store);
  return status;
}

CINNABAR_REGISTER_COMMAND(
    runs, {.help = "Lists, shows, follows, resumes, renames and removes runs.",
           .usage = "[list | show | tail | resume | rename | remove | restore] [RUN ...] [--OPTION VALUE ...]",
           .order = 45,
           .schema = runs_options,
           .run = run_runs});

}  // namespace

std::filesystem::path workspace_of(const schema::Values& options) {
  const auto named = options.maybe_text("workspace");
  return std::filesystem::absolute(named ? std::filesystem::path(*named) : jobs::default_workspace());
}

void tell_at_once(const std::string& sentence) { std::cerr << "note: " << sentence << std::endl; }

void print_notes(const jobs::RunStore& store) {
  std::cout.flush();
  for (const std::string& note : store.notes()) std::cerr << "note: " << note << "\n";
}

std::vector<jobs::RunRow> named_runs(jobs::RunStore& store, const schema::Values& options, const std::string& action,
                                     jobs::SeveralFit several, jobs::LookIn where) {
  std::vector<jobs::RunRow> runs;
  for (const std::string& key : options.texts("run")) {
    jobs::RunRow run = store.find(key, several, where);
    const bool is_known = std::any_of(runs.begin(), runs.end(), [&](const auto& other) { return other.id == run.id; });
    if (!is_known) runs.push_back(std::move(run));
  }
  if (runs.empty()) {
    throw base::Error(base::ErrorCode::Usage,
                      "name the run: cinnabar runs " + action + " RUN (an id, its first digits, a name, or latest)");
  }
  return runs;
}

jobs::RunRow named_run(jobs::RunStore& store, const schema::Values& options, const std::string& action) {
  std::vector<jobs::RunRow> runs = named_runs(store, options, action, jobs::SeveralFit::TakeNewest);
  if (runs.size() > 1) throw base::Error(base::ErrorCode::Usage, "runs " + action + " takes one run at a time");
  return runs.front();
}

}  // namespace cinnabar::cli
