// One run: starts the worker, passes on what it tells, hands signals through, says how it ended.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cinnabar/jobs/engine.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::jobs {

struct RunHandlers {
  std::function<void(const nlohmann::ordered_json&)> event;  // docs/events.md
  std::function<void(const std::string&)> engine_line;       // a line that the worker wrote to stderr or stdout
  std::function<void(int count)> interrupted;                // the first (1) and second (2) SIGINT or SIGTERM
};

struct RunOutcome {
  int exit_status = 0;             // as the program should end: design.md, section 4
  std::string message;             // why it failed, with what was saved and what to do; empty when done
  std::vector<std::string> saved;  // files that the run completed
  std::filesystem::path record;
};

// Makes the run record, starts `engine`'s worker in a process group of its own and waits for it. SIGINT, SIGTERM and
// SIGHUP of this process are taken over meanwhile: the first lets the worker finish the step and save, the second ends
// it at once. Call from the main thread. `parent`: id of the run that this one continues. The store of runs is written
// meanwhile (run_recorder.h); what is wrong with it comes as warning events. Throws Error when the run could not be
// started.
RunOutcome run(const schema::Schema& schema, const schema::Config& config, const Engine& engine,
               const std::filesystem::path& workspace, const RunHandlers& handlers, const std::string& parent = {});

}  // namespace cinnabar::jobs
