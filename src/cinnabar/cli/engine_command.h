// What train, sample, cache, init_model and demo have in common: read options, start the engine, show its events.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/schema.h"

namespace cinnabar::cli {

// Returns the exit status of the run. Throws Error{Config} with all problems before anything is started.
int run_engine_command(const std::string& command, const schema::Schema& schema, const std::vector<std::string>& words);

// The same from a configuration that was read already. `parent`: id of the run that this one continues.
int run_config(const schema::Schema& schema, const schema::Config& config, const std::string& parent = {});

}  // namespace cinnabar::cli
