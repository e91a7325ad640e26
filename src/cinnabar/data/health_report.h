// The findings of a scan for people (short) and for programs (all of them).
#pragma once

#include <string>
#include <vector>

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

struct ReportLine {
  Severity severity = Severity::Info;
  std::string text;
};

// One sentence a finding: "PATH: what; action".
std::string to_string(const Issue& issue);

// Findings in their order, each once. Of many of one kind the first few are told and the rest are counted.
std::vector<ReportLine> report_lines(const std::vector<Dataset>& datasets);

struct HealthCounts {
  int64_t pictures = 0;  // that are used, each once a data set
  int64_t items = 0;     // with repeats, of the first epoch
  int64_t left_out = 0;  // findings by what was done
  int64_t fixed = 0;
  int64_t blocking = 0;
  int64_t noted = 0;  // warnings about what is used as it is
};
HealthCounts health_counts(const std::vector<Dataset>& datasets);
// "Found 24 pictures; an epoch has 48, with repeats. Findings: 2 left out, 1 fixed, 1 to look at (the warnings above)."
std::string summary_text(const HealthCounts& counts);

// The whole report as JSON: counts, data sets with their buckets, and every finding.
std::string health_json(const std::vector<Dataset>& datasets);

}  // namespace cinnabar::data
