#include <iostream>

#include "cinnabar/cli/command.h"
#include "cinnabar/cli/flag_option.h"
#include "cinnabar/hardware/recording.h"
#include "cinnabar/hardware/setup_plan.h"
#include "cinnabar/hardware/system_sources.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

schema::Schema setup_options() {
  const char* group = "Set-up";
  schema::Schema schema(
      {{flag_option(group, "use_rocm", "ROCm", "The build for AMD, whatever the machine has."),
        flag_option(group, "use_cuda", "CUDA", "The build for NVIDIA, whatever the machine has."),
        flag_option(group, "use_cpu", "CPU", "The build for the processor, whatever the machine has."),
        flag_option(group, "dry_run", "Dry run", "Only says what would be fetched, set and warned of."),
        flag_option(group, "json", "JSON", "Prints the plan as JSON.")}});
  schema.add({.name = "simulate",
              .type = schema::Type::Path,
              .group = group,
              .label = "Simulate",
              .help = "Plans for a recorded machine instead of this one.",
              .path = schema::PathKind::Folder});
  return schema;
}

std::optional<std::string> forced_build(const schema::Values& values) {
  std::optional<std::string> build;
  for (const char* name : {"rocm", "cuda", "cpu"}) {
    if (!values.flag(std::string("use_") + name)) continue;
    if (build) throw base::Error(base::ErrorCode::Usage, "use_" + *build + " and use_" + name + ": give one of them");
    build = name;
  }
  return build;
}

int run_setup(const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(setup_options(), "setup", words);
  if (!config.values.flag("dry_run")) {
    throw base::Error(
        base::ErrorCode::Usage,
        "this program only plans: give --dry_run to see what would be done; to do it, run ./cinnabar setup in the "
        "repository");
  }
  const auto simulated = config.values.maybe_text("simulate");
  const hardware::Sources sources =
      simulated ? hardware::load_recording(*simulated) : hardware::system_sources({}, true);
  const hardware::SetupPlan plan = hardware::plan_setup(sources, forced_build(config.values));
  std::cout << (config.values.flag("json") ? hardware::plan_json(plan) + "\n"
                                           : hardware::plan_text(plan) + "\nNothing was changed (--dry_run).\n");
  return 0;
}

CINNABAR_REGISTER_COMMAND(
    setup, {.help = "Chooses libtorch for a machine (./cinnabar setup in the repository also fetches it).",
            .usage = "--dry_run [--use-rocm|--use-cuda|--use-cpu] [--simulate FOLDER]",
            .order = 82,
            .schema = setup_options,
            .run = run_setup});

}  // namespace

}  // namespace cinnabar::cli
