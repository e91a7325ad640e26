#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/cli/engine_command.h"
#include "cinnabar/cli/runs_actions.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

void check_resumable(const jobs::RunRow& run) {
  std::string why;
  if (run.command != "train") why = "it is a run of \"" + run.command + "\", and only training goes on from a state";
  if (run.is_removed) why = "it is in the bin; restore it first: cinnabar runs restore " + run.id;
  if (run.state == "running") why = "it is going on";
  if (!why.empty()) throw base::Error(base::ErrorCode::Usage, "cannot resume the run " + run.id + ": " + why);
}

// The options as they were recorded: of the run's folder, or when that is gone, of the store.
std::string recorded_config(jobs::RunStore& store, const jobs::RunRow& run) {
  const fs::path file = store.folder_of(run) / "config.json";
  if (fs::exists(file)) return base::read_file(file);
  ordered_json values = ordered_json::object();
  for (const auto& [option, text] : store.config(run.id)) values[option] = ordered_json::parse(text, nullptr, false);
  if (values.empty()) {
    throw base::Error(base::ErrorCode::Io,
                      "cannot resume the run " + run.id + ": its options are lost (" + file.string() + " is missing)");
  }
  return ordered_json{{"cinnabar_config", 1}, {"command", run.command}, {"values", values}}.dump();
}

// The step at which the run went on from a state; nothing when it never got there.
std::optional<int64_t> first_step(jobs::RunStore& store, const jobs::RunRow& run) {
  std::optional<int64_t> step;
  for (const jobs::RunEvent& event : store.events(run.id)) {
    if (event.type != "resumed") continue;
    const ordered_json content = ordered_json::parse(event.content, nullptr, false);
    if (content.is_object() && content.contains("step") && content["step"].is_number_integer())
      step = content["step"].get<int64_t>();
  }
  return step;
}

// The run, and those that it continues with the steps at which that began: a run that was killed before it saved a
// state goes on from where it went on.
std::string states_of(jobs::RunStore& store, const jobs::RunRow& run) {
  std::string text = "run:" + run.id;
  std::set<std::string> seen = {run.id};
  jobs::RunRow younger = run;
  std::optional<int64_t> last_step;
  while (!younger.parent.empty() && seen.insert(younger.parent).second) {
    if (const auto step = first_step(store, younger)) last_step = std::min(last_step.value_or(*step), *step);
    text += "," + younger.parent + (last_step ? "@" + std::to_string(*last_step) : "");
    try {
      younger = store.find(younger.parent);
    } catch (const base::Error&) {
      break;  // its record is gone, and what it continued with it
    }
  }
  return text;
}

schema::Source from_state(const schema::Schema& schema, jobs::RunStore& store, const jobs::RunRow& run) {
  if (schema.find("resume") == nullptr) {
    throw base::Error(base::ErrorCode::Config,
                      "cannot resume the run " + run.id +
                          ": this version saves no state to go on from (the option resume is not built yet). To train "
                          "anew with the same options: cinnabar runs show " +
                          run.id + " --toml > again.toml && cinnabar train again.toml");
  }
  schema::Source source;
  const std::string state = states_of(store, run);
  source.values["resume"] = {state, "runs resume", state};
  return source;
}

// Paths of the options may be relative to where the run was started.
void go_to_work_folder(const jobs::RunRow& run) {
  std::error_code error;
  if (run.work_folder.empty() || fs::current_path(error) == run.work_folder) return;
  fs::current_path(run.work_folder, error);
  std::cerr << (error ? "note: the folder in which the run was started cannot be entered (" + error.message() +
                            "); relative paths begin here: "
                      : std::string("note: relative paths begin where the run was started: "))
            << (error ? fs::current_path().string() : run.work_folder) << "\n";
}

}  // namespace

int resume_run(const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with("-")) {
    throw base::Error(
        base::ErrorCode::Usage,
        "name the run to resume: cinnabar runs resume RUN [--OPTION VALUE ...] (an id, its first digits, a "
        "name, or latest)");
  }
  const schema::Schema schema = jobs::train_schema();
  schema::Problems problems;
  schema::Source line;
  schema::read_command_line(schema, {words.begin() + 1, words.end()}, "command line", line, problems);
  problems.raise();
  for (const char* name : {"config_file", "output_config"}) {
    if (line.values.contains(name)) {
      throw base::Error(base::ErrorCode::Usage, std::string("runs resume takes the options of the run itself; ") +
                                                    name + " (" + line.values.at(name).text + ") has no place here");
    }
  }
  schema::Values place;
  if (line.values.contains("workspace")) place.set("workspace", line.values.at("workspace").value);
  const fs::path workspace = workspace_of(place);
  // The options' workspace would begin elsewhere after the change of folder.
  line.values["workspace"] = {workspace.string(), "command line", workspace.string()};

  std::vector<schema::Source> sources(1);
  std::string parent;
  {
    jobs::RunStore store(workspace, tell_at_once);
    const jobs::RunRow run = store.find(words.front(), jobs::SeveralFit::TakeNewest);
    print_notes(store);
    check_resumable(run);
    parent = run.id;
    schema::read_own_json(schema, recorded_config(store, run), "the record of the run", sources[0], problems);
    sources.push_back(from_state(schema, store, run));
    go_to_work_folder(run);
  }
  sources.push_back(std::move(line));
  const schema::Config config = schema::resolve(schema, "train", sources, problems);
  problems.raise();
  return run_config(schema, config, parent);
}

}  // namespace cinnabar::cli
