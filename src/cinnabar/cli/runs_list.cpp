#include <iostream>
#include <nlohmann/json.hpp>

#include "cinnabar/cli/runs_actions.h"
#include "cinnabar/cli/runs_text.h"

namespace cinnabar::cli {

namespace {

using nlohmann::ordered_json;

std::string state_text(const jobs::RunRow& run) {
  return run.is_certain ? run.state
                        : run.state + " on " + (run.host.empty() ? "another machine" : plain(run.host)) + "?";
}

void print_table(jobs::RunStore& store, const std::vector<jobs::RunRow>& runs) {
  const size_t digits = store.short_id_length();
  std::vector<std::vector<std::string>> rows = {{"RUN", "NAME", "COMMAND", "STATE", "STARTED", "TIME", "STEP", "LOSS"}};
  for (const jobs::RunRow& run : runs) {
    rows.push_back({run.id.substr(0, digits), plain(run.name), plain(run.command), state_text(run),
                    time_text(run.started), length_text(run), step_text(run),
                    loss_text(run.average_loss ? run.average_loss : run.loss)});
  }
  std::cout << table_text(rows);
}

}  // namespace

int list_runs(jobs::RunStore& store, const schema::Values& options) {
  const int64_t limit = options.integer("limit");
  jobs::RunFilter filter{.state = options.maybe_text("state").value_or(""), .is_removed = options.flag("bin")};
  std::vector<jobs::RunRow> runs = store.runs(filter);
  const size_t count = runs.size();
  if (limit > 0 && count > static_cast<size_t>(limit)) runs.resize(static_cast<size_t>(limit));
  if (options.flag("json")) {
    ordered_json list = ordered_json::array();
    for (const jobs::RunRow& run : runs) list.push_back(run_json(run, store.folder_of(run).string()));
    const ordered_json json = {{"workspace", store.workspace().string()}, {"count", count}, {"runs", list}};
    std::cout << json.dump(1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
    return 0;
  }
  if (runs.empty()) {
    std::cout << (filter.is_removed ? "The bin is empty." : "No runs in " + store.workspace().string() + ".") << "\n";
    return 0;
  }
  print_table(store, runs);
  if (count > runs.size()) {
    std::cout << count - runs.size() << " older ones are not shown; --limit 0 shows all.\n";
  }
  return 0;
}

}  // namespace cinnabar::cli
