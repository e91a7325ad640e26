#include "cinnabar/cli/command.h"
#include "cinnabar/cli/engine_command.h"
#include "cinnabar/schema/option_groups.h"

namespace cinnabar::cli {

CINNABAR_REGISTER_COMMAND(init_model, {.help = "Writes a model with random weights, for tests and measurements.",
                                       .usage = "OUTPUT [--OPTION VALUE ...]",
                                       .order = 60,
                                       .schema = schema::init_model_schema,
                                       .run = [](const std::vector<std::string>& words) {
                                         return run_engine_command("init_model", schema::init_model_schema(), words);
                                       }});

}  // namespace cinnabar::cli
