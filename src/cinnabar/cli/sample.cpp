#include "cinnabar/cli/command.h"
#include "cinnabar/cli/engine_command.h"
#include "cinnabar/jobs/command_schemas.h"

namespace cinnabar::cli {

CINNABAR_REGISTER_COMMAND(sample, {.help = "Makes pictures from prompts, with LoRA files.",
                                   .usage = "--pretrained_model_name_or_path MODEL --prompt TEXT [--OPTION VALUE ...]",
                                   .order = 30,
                                   .schema = jobs::sample_schema,
                                   .run = [](const std::vector<std::string>& words) {
                                     return run_engine_command("sample", jobs::sample_schema(), words);
                                   }});

}  // namespace cinnabar::cli
