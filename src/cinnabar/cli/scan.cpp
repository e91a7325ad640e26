#include <iostream>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/cli/command.h"
#include "cinnabar/cli/engine_command.h"
#include "cinnabar/data/described_data.h"
#include "cinnabar/data/health_report.h"
#include "cinnabar/data/mask_files.h"
#include "cinnabar/data/weighted_captions.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/jobs/engine.h"
#include "cinnabar/jobs/run.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

// What help shows. All options of training are taken, so that a configuration of a run can be scanned as it is.
schema::Schema shown_options() {
  schema::Schema shown({schema::dataset_options(), schema::picture_options(), schema::caption_options()});
  const schema::Schema all = schema::train_schema();
  for (const char* name : {"masked_loss", "config_file", "workspace", "json"}) {
    const schema::Option* option = all.find(name);
    if (option != nullptr && shown.find(name) == nullptr) shown.add(*option);
  }
  return shown;
}

void print(const std::vector<data::Dataset>& datasets) {
  for (const data::ReportLine& line : data::report_lines(datasets)) {
    const char* label = line.severity == data::Severity::Error     ? "error: "
                        : line.severity == data::Severity::Warning ? "warning: "
                                                                   : "";
    std::cout << label << base::printable_text(line.text) << "\n";
  }
  std::cout << data::summary_text(data::health_counts(datasets)) << "\n";
}

// Pixels are decoded by the engine, which this program does not link; it leaves a record, as runs do.
int scan_pixels(const schema::Config& config) {
  if (!config.values.flag("json")) return run_config(jobs::train_schema(), config);
  const auto workspace = config.values.maybe_text("workspace");
  const jobs::RunOutcome outcome =
      jobs::run(jobs::train_schema(), config, jobs::find_engine(),
                workspace ? std::filesystem::path(*workspace) : jobs::default_workspace(), {}, {});
  const std::filesystem::path report = outcome.record / "dataset_report.json";
  if (std::filesystem::exists(report)) std::cout << base::read_file(report);
  if (!outcome.message.empty()) std::cerr << "cinnabar: " << base::printable_text(outcome.message) << "\n";
  return outcome.exit_status;
}

int run_scan(const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(jobs::train_schema(), "scan", words);
  if (config.values.flag("strict")) return scan_pixels(config);
  const data::DescribedData description = data::described_data(config.values);
  std::vector<data::Dataset> datasets = data::scan_data(description, {.index_folder = data::scan_index_folder()});
  for (data::Dataset& dataset : datasets) {
    data::find_masks(dataset);
    if (config.values.flag("weighted_captions")) data::check_weighted_captions(dataset);
  }
  if (config.values.flag("json")) {
    std::cout << data::health_json(datasets);
  } else {
    for (const std::string& notice : config.notices) std::cout << "note: " << base::printable_text(notice) << "\n";
    for (const std::string& notice : description.notices) std::cout << "note: " << base::printable_text(notice) << "\n";
    print(datasets);
  }
  return data::health_counts(datasets).blocking > 0 ? 1 : 0;
}

CINNABAR_REGISTER_COMMAND(scan,
                          {.help = "Looks for faults in the pictures and captions of a data set, without training.",
                           .usage = "[CONFIG] [--OPTION VALUE ...]",
                           .order = 35,
                           .schema = shown_options,
                           .run = run_scan});

}  // namespace

}  // namespace cinnabar::cli
