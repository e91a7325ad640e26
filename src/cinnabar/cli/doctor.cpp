#include <iostream>

#include "cinnabar/cli/command.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/libtorch_build.h"
#include "cinnabar/hardware/recording.h"
#include "cinnabar/hardware/report.h"
#include "cinnabar/hardware/rules.h"
#include "cinnabar/hardware/smi_libraries.h"
#include "cinnabar/hardware/system_sources.h"
#include "cinnabar/jobs/engine.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

schema::Schema options() {
  const char* group = "Doctor";
  return schema::Schema(
      {{{.name = "json",
         .type = schema::Type::Flag,
         .fallback = false,
         .group = group,
         .label = "JSON",
         .help = "Prints the report as JSON."},
        {.name = "details",
         .type = schema::Type::Flag,
         .fallback = false,
         .group = group,
         .label = "Details",
         .help = "With --json: also processor, memory, variables of the engine, and the words of each "
                 "problem."},
        {.name = "simulate",
         .type = schema::Type::Path,
         .group = group,
         .label = "Simulate",
         .help = "Looks at a recorded machine instead of this one.",
         .path = schema::PathKind::Folder},
        {.name = "record",
         .type = schema::Type::Path,
         .group = group,
         .label = "Record",
         .help = "Also writes what was read, without names and serial numbers, into this new folder; "
                 "attach it to a report of a problem."},
        {.name = "probe",
         .type = schema::Type::Text,
         .choices = {"nvml", "amd_smi", "rocm_smi"},
         .group = group,
         .level = schema::Level::Expert,
         .label = "Probe",
         .help = "Prints what a vendor's library says, as its tool would; used when the tool is missing."}}});
}

hardware::Libtorch libtorch() {
  try {
    return hardware::read_libtorch(jobs::find_torch());
  } catch (const base::Error& error) {
    std::cerr << "cinnabar: " << error.message() << "\n";
    return {};
  }
}

int probe(const std::string& name) {
  const std::string text = name == "nvml"      ? hardware::nvml_text()
                           : name == "amd_smi" ? hardware::amd_smi_text()
                                               : hardware::rocm_smi_text();
  std::cout << text;
  return text.empty() ? 1 : 0;
}

int run(const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(options(), "doctor", words);
  if (const auto name = config.values.maybe_text("probe")) return probe(*name);
  const auto simulated = config.values.maybe_text("simulate");
  const hardware::Sources sources =
      simulated ? hardware::load_recording(*simulated) : hardware::system_sources(libtorch(), true);
  const hardware::Machine machine = hardware::detect(sources);
  if (const auto folder = config.values.maybe_text("record")) {
    hardware::save_recording(sources, machine, *folder);
    std::cerr << "cinnabar: recorded in " << *folder << "\n";
  }
  if (config.values.flag("json")) {
    std::cout << hardware::report_json(machine, config.values.flag("details")) << "\n";
  } else {
    std::cout << hardware::report_text(machine);
  }
  return hardware::is_blocked(machine) ? 1 : 0;
}

CINNABAR_REGISTER_COMMAND(doctor, {.help = "Says what is in this machine, what will work, and what to change.",
                                   .usage = "[--json] [--record FOLDER | --simulate FOLDER]",
                                   .order = 80,
                                   .schema = options,
                                   .run = run});

}  // namespace

}  // namespace cinnabar::cli
