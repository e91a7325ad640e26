#include "cinnabar/cli/command.h"
#include "cinnabar/cli/engine_command.h"
#include "cinnabar/jobs/command_schemas.h"

namespace cinnabar::cli {

CINNABAR_REGISTER_COMMAND(train, {.help = "Trains a LoRA with sd-scripts' options.",
                                  .usage = "[CONFIG] [--OPTION VALUE ...]",
                                  .order = 20,
                                  .schema = jobs::train_schema,
                                  .run = [](const std::vector<std::string>& words) {
                                    return run_engine_command("train", jobs::train_schema(), words);
                                  }});

}  // namespace cinnabar::cli
