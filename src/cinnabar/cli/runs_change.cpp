// Actions of `cinnabar runs` that change the record: rename, remove, restore.
#include <iostream>
#include <nlohmann/json.hpp>

#include "cinnabar/cli/runs_actions.h"
#include "cinnabar/cli/runs_text.h"

namespace cinnabar::cli {

namespace {

using nlohmann::ordered_json;

void tell(const schema::Values& options, const ordered_json& json, const std::string& sentence) {
  if (options.flag("json")) {
    std::cout << json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  } else {
    std::cout << sentence << "\n";
  }
}

}  // namespace

int rename_run(jobs::RunStore& store, const schema::Values& options) {
  const std::vector<std::string> words = options.texts("run");
  if (words.size() != 2) {
    throw base::Error(base::ErrorCode::Usage, "expected a run and its new name: cinnabar runs rename RUN NAME");
  }
  const jobs::RunRow run = store.find(words[0]);
  store.rename(run, words[1]);
  tell(options, {{"id", run.id}, {"name", words[1]}}, "The run " + run.id + " is now called " + plain(words[1]) + ".");
  return 0;
}

int remove_runs(jobs::RunStore& store, const schema::Values& options) {
  const bool empties = options.flag("empty_bin");
  if (!empties || !options.texts("run").empty()) {
    for (const jobs::RunRow& run : named_runs(store, options, "remove")) {
      store.remove(run);
      tell(options, {{"id", run.id}, {"is_removed", true}},
           "The run " + run.id + " (" + plain(run.name) + ") is in the bin. Files that it saved stay where they are.");
    }
  }
  if (empties) {
    const int64_t count = store.empty_bin();
    tell(options, {{"deleted", count}}, "Deleted " + std::to_string(count) + (count == 1 ? " record." : " records."));
  }
  return 0;
}

int restore_runs(jobs::RunStore& store, const schema::Values& options) {
  for (const jobs::RunRow& run : named_runs(store, options, "restore", jobs::SeveralFit::Refuse, jobs::LookIn::Bin)) {
    store.restore(run);
    tell(options, {{"id", run.id}, {"is_removed", false}}, "The run " + run.id + " (" + plain(run.name) + ") is back.");
  }
  return 0;
}

}  // namespace cinnabar::cli
