#include "cinnabar/cli/command.h"
#include "cinnabar/cli/engine_command.h"
#include "cinnabar/jobs/command_schemas.h"

namespace cinnabar::cli {

CINNABAR_REGISTER_COMMAND(cache, {.help = "Encodes pictures and captions of a data set ahead of training.",
                                  .usage = "[CONFIG] [--OPTION VALUE ...]",
                                  .order = 40,
                                  .schema = jobs::cache_schema,
                                  .run = [](const std::vector<std::string>& words) {
                                    return run_engine_command("cache", jobs::cache_schema(), words);
                                  }});

}  // namespace cinnabar::cli
