#include "cinnabar/cli/command.h"
#include "cinnabar/cli/engine_command.h"
#include "cinnabar/schema/option_groups.h"

namespace cinnabar::cli {

CINNABAR_REGISTER_COMMAND(demo, {.help = "Trains a LoRA on the embedded model and shows pictures before and after.",
                                 .usage = "[--OPTION VALUE ...]",
                                 .order = 10,
                                 .schema = schema::demo_schema,
                                 .run = [](const std::vector<std::string>& words) {
                                   return run_engine_command("demo", schema::demo_schema(), words);
                                 }});

}  // namespace cinnabar::cli
