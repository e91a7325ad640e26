#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cinnabar/cli/command.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/libtorch_build.h"
#include "cinnabar/hardware/recording.h"
#include "cinnabar/hardware/report.h"
#include "cinnabar/hardware/rules.h"
#include "cinnabar/hardware/self_test_report.h"
#include "cinnabar/hardware/smi_libraries.h"
#include "cinnabar/hardware/system_sources.h"
#include "cinnabar/jobs/engine.h"
#include "cinnabar/jobs/self_test.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

schema::Schema doctor_options() {
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
        {.name = "self_test",
         .type = schema::Type::Flag,
         .fallback = false,
         .group = group,
         .label = "Self-test",
         .help = "Also computes with every kind of kernel that training uses, on the device that would train, and "
                 "compares with float64: errors, times, rates."},
        {.name = "device",
         .type = schema::Type::Text,
         .fallback = "auto",
         .group = group,
         .level = schema::Level::Advanced,
         .shown_if = "self_test",
         .label = "Device",
         .help = "Of the self-test: auto, cpu, gpu or gpu:N."},
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

hardware::SelfTestReport self_test(const std::string& device) {
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const auto begun = [&](const std::string& what) {
    if (is_terminal) std::cerr << "\rcomputing " << what << std::string(20, ' ') << std::flush;
  };
  hardware::SelfTestReport report = jobs::run_self_test(jobs::find_engine(), device, begun);
  if (is_terminal) std::cerr << "\r" << std::string(60, ' ') << "\r" << std::flush;
  return report;
}

std::string with_self_test(const std::string& json, const hardware::SelfTestReport& test) {
  using nlohmann::ordered_json;
  ordered_json report = ordered_json::parse(json);
  report["self_test"] = hardware::self_test_json(test);
  return report.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

int run_doctor(const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(doctor_options(), "doctor", words);
  if (const auto name = config.values.maybe_text("probe")) return probe(*name);
  const auto simulated = config.values.maybe_text("simulate");
  const bool is_tested = config.values.flag("self_test");
  if (simulated && is_tested) {
    throw base::Error(base::ErrorCode::Usage,
                      "self_test computes on this machine, and simulate looks at another: give one of them");
  }
  const hardware::Sources sources =
      simulated ? hardware::load_recording(*simulated) : hardware::system_sources(libtorch(), true);
  const hardware::Machine machine = hardware::detect(sources);
  if (const auto folder = config.values.maybe_text("record")) {
    hardware::save_recording(sources, machine, *folder);
    std::cerr << "cinnabar: recorded in " << *folder << "\n";
  }
  std::optional<hardware::SelfTestReport> test;
  if (is_tested) test = self_test(config.values.text("device"));
  if (config.values.flag("json")) {
    const std::string json = hardware::report_json(machine, config.values.flag("details"));
    std::cout << (test ? with_self_test(json, *test) : json) << "\n";
  } else {
    std::cout << hardware::report_text(machine) << (test ? hardware::self_test_text(*test) : std::string());
  }
  return hardware::is_blocked(machine) || (test && !test->is_good()) ? 1 : 0;
}

CINNABAR_REGISTER_COMMAND(doctor, {.help = "Says what is in this machine, what will work, and what to change.",
                                   .usage = "[--json] [--self_test] [--record FOLDER | --simulate FOLDER]",
                                   .order = 80,
                                   .schema = doctor_options,
                                   .run = run_doctor});

}  // namespace

}  // namespace cinnabar::cli
