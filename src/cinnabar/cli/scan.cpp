#include <iostream>

#include "cinnabar/base/utf8.h"
#include "cinnabar/cli/command.h"
#include "cinnabar/data/described_data.h"
#include "cinnabar/data/health_report.h"
#include "cinnabar/data/mask_files.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

// What help shows. All options of training are taken, so that a configuration of a run can be scanned as it is.
schema::Schema shown_options() {
  schema::Schema shown({schema::dataset_options(), schema::picture_options(), schema::caption_options()});
  const schema::Schema all = schema::train_schema();
  for (const char* name : {"masked_loss", "config_file", "json"}) {
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

// To stderr: stdout may be JSON.
void tell_strict(const data::HealthCounts& counts) {
  if (counts.left_out > 0) {
    std::cerr << "error: strict: " << counts.left_out
              << " things are left out, named above; mend or remove them, or leave strict out\n";
  }
  std::cerr << "note: scan reads headers, ends and captions; pixels are decoded by train --strict alone.\n";
}

int run(const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(jobs::train_schema(), "scan", words);
  const data::DescribedData description = data::described_data(config.values);
  std::vector<data::Dataset> datasets = data::scan_data(description, {.index_folder = data::scan_index_folder()});
  for (data::Dataset& dataset : datasets) data::find_masks(dataset);
  if (config.values.flag("json")) {
    std::cout << data::health_json(datasets);
  } else {
    for (const std::string& notice : config.notices) std::cout << "note: " << base::printable_text(notice) << "\n";
    for (const std::string& notice : description.notices) std::cout << "note: " << base::printable_text(notice) << "\n";
    print(datasets);
  }
  const data::HealthCounts counts = data::health_counts(datasets);
  if (config.values.flag("strict")) tell_strict(counts);
  return counts.blocking > 0 || (config.values.flag("strict") && counts.left_out > 0) ? 1 : 0;
}

CINNABAR_REGISTER_COMMAND(scan,
                          {.help = "Looks for faults in the pictures and captions of a data set, without training.",
                           .usage = "[CONFIG] [--OPTION VALUE ...]",
                           .order = 35,
                           .schema = shown_options,
                           .run = run});

}  // namespace

}  // namespace cinnabar::cli
