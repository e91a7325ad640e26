#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cinnabar/base/text_match.h"
#include "cinnabar/cli/runs_actions.h"
#include "cinnabar/cli/runs_text.h"

namespace cinnabar::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::chrono::milliseconds kHashPatience(2000);

void line(const std::string& name, const std::string& text) {
  if (text.empty()) return;
  std::cout << "  " << name << std::string(name.size() < 10 ? 10 - name.size() : 1, ' ') << plain(text) << "\n";
}

std::string whole_state_text(const jobs::RunRow& run) {
  std::string text = run.state;
  if (run.exit_status) text += ", exit status " + std::to_string(*run.exit_status);
  if (run.state == "crashed") text += ": the program that watched over it is gone";
  if (!run.is_certain) text += "; it is on " + run.host + " and cannot be seen from here";
  return run.is_removed ? text + "; in the bin" : text;
}

void print_head(jobs::RunStore& store, const jobs::RunRow& run) {
  std::cout << "Run " << run.id << "  " << plain(run.name) << "\n";
  line("command", run.command);
  line("state", whole_state_text(run));
  line("message", run.message);
  line("started", time_text(run.started, true) + (run.state == "running" ? ", for " : ", took ") + length_text(run));
  std::string reached = step_text(run);
  if (run.epoch) reached += ", epoch " + std::to_string(*run.epoch);
  if (run.epochs) reached += "/" + std::to_string(*run.epochs);
  if (run.loss) reached += ", loss " + loss_text(run.loss);
  if (run.average_loss) reached += ", average " + loss_text(run.average_loss);
  if (run.step) line("step", reached);
  if (!run.program_version.empty()) {
    line("program", "cinnabar " + run.program_version + ", libtorch " + (run.libtorch.empty() ? "?" : run.libtorch));
  }
  line("record", store.folder_of(run).string());
  if (!std::filesystem::exists(store.folder_of(run))) line("", "the folder is gone; what is shown is from the store");
  line("continues", run.parent);
  for (const std::string& id : store.descendants(run.id)) line("resumed as", id);
}

void print_inputs(const std::vector<jobs::RunInput>& inputs) {
  if (inputs.empty()) return;
  std::cout << "Made from\n";
  std::vector<std::vector<std::string>> rows;
  for (const jobs::RunInput& input : inputs) {
    rows.push_back({"  " + plain(input.kind), input.sha256.substr(0, 12), plain(input.path),
                    input.note.empty() ? "" : "(" + plain(input.note) + ")"});
  }
  std::cout << table_text(rows);
}

void print_files(const std::vector<jobs::RunFile>& files) {
  if (files.empty()) return;
  std::cout << "Files\n";
  std::vector<std::vector<std::string>> rows;
  for (const jobs::RunFile& file : files) {
    rows.push_back({"  " + plain(file.kind), file.step ? "step " + std::to_string(*file.step) : "",
                    file.bytes ? bytes_text(*file.bytes) : "",
                    file.sha256.empty() ? (file.note.empty() ? "-" : plain(file.note)) : file.sha256.substr(0, 12),
                    plain(file.path)});
  }
  std::cout << table_text(rows);
}

void print_events(const std::vector<jobs::RunEvent>& events) {
  for (const jobs::RunEvent& event : events) {
    if (event.type != "warning" && event.type != "error") continue;
    const ordered_json json = ordered_json::parse(event.content, nullptr, false);
    if (!json.is_object()) continue;
    const auto text = json.find("text");
    if (text == json.end() || !text->is_string()) continue;
    std::cout << event.type << ": " << plain(text->get<std::string>()) << "\n";
  }
}

int print_series(jobs::RunStore& store, const jobs::RunRow& run, const std::string& name, bool is_json) {
  const std::vector<std::string> known = store.series(run.id);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    std::string all;
    for (const std::string& series : known) all += (all.empty() ? "" : ", ") + series;
    const std::string near = base::nearest_name(name, known);
    throw base::Error(base::ErrorCode::Usage, "the run " + run.id + " has no series \"" + name + "\"." +
                                                  (near.empty() ? "" : "; did you mean " + near + "?") +
                                                  (all.empty() ? "; it has none" : " It has: " + all));
  }
  ordered_json points = ordered_json::array();
  for (const jobs::MetricPoint& point : store.metric(run.id, name)) {
    if (!is_json) {
      std::cout << point.step << " "
                << (std::isfinite(point.value) ? ordered_json(point.value).dump() : loss_text(point.value)) << "\n";
      continue;
    }
    ordered_json value = point.value;
    if (!std::isfinite(point.value)) value = loss_text(point.value);
    points.push_back({point.step, value});
  }
  if (is_json) std::cout << ordered_json{{"id", run.id}, {"series", name}, {"points", points}}.dump() << "\n";
  return 0;
}

ordered_json as_json(const std::vector<jobs::RunFile>& files) {
  ordered_json list = ordered_json::array();
  for (const jobs::RunFile& file : files) {
    ordered_json json = {{"path", file.path}, {"kind", file.kind}};
    if (file.step) json["step"] = *file.step;
    if (file.bytes) json["bytes"] = *file.bytes;
    if (!file.sha256.empty()) json["sha256"] = file.sha256;
    if (!file.note.empty()) json["note"] = file.note;
    list.push_back(json);
  }
  return list;
}

ordered_json as_json(const std::vector<jobs::RunInput>& inputs) {
  ordered_json list = ordered_json::array();
  for (const jobs::RunInput& input : inputs) {
    ordered_json json = {{"kind", input.kind}, {"path", input.path}};
    if (!input.sha256.empty()) json["sha256"] = input.sha256;
    if (!input.note.empty()) json["note"] = input.note;
    list.push_back(json);
  }
  return list;
}

ordered_json config_json(jobs::RunStore& store, const std::string& id) {
  ordered_json json = ordered_json::object();
  for (const auto& [option, text] : store.config(id)) {
    const ordered_json value = ordered_json::parse(text, nullptr, false);
    if (!value.is_discarded()) json[option] = value;
  }
  return json;
}

int print_json(jobs::RunStore& store, const jobs::RunRow& run) {
  ordered_json json = run_json(run, store.folder_of(run).string());
  json["resumed_as"] = store.descendants(run.id);
  json["inputs"] = as_json(store.inputs(run.id));
  json["files"] = as_json(store.files(run.id, kHashPatience));
  json["series"] = store.series(run.id);
  json["options"] = config_json(store, run.id);
  ordered_json events = ordered_json::array();
  for (const jobs::RunEvent& event : store.events(run.id)) {
    ordered_json content = ordered_json::parse(event.content, nullptr, false);
    if (content.is_object()) events.push_back(std::move(content));
  }
  json["events"] = events;
  std::cout << json.dump(1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  return 0;
}

}  // namespace

int show_run(jobs::RunStore& store, const schema::Values& options) {
  const jobs::RunRow run = named_run(store, options, "show");
  if (const auto series = options.maybe_text("series")) return print_series(store, run, *series, options.flag("json"));
  if (options.flag("json")) return print_json(store, run);
  if (options.flag("toml")) {
    std::cout << store.config_toml(run.id);
    return 0;
  }
  print_head(store, run);
  print_inputs(store.inputs(run.id));
  print_files(store.files(run.id, kHashPatience));
  print_events(store.events(run.id));
  return 0;
}

}  // namespace cinnabar::cli
