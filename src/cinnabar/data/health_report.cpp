#include "cinnabar/data/health_report.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cinnabar/base/counted.h"
#include "cinnabar/data/batch_plan.h"

namespace cinnabar::data {

namespace {

using Json = nlohmann::ordered_json;

// Findings of one kind that are told one by one.
constexpr size_t kTold = 5;

// Several data sets may hold one folder, and then find the same.
std::vector<const Issue*> distinct(const std::vector<Dataset>& datasets) {
  std::vector<const Issue*> issues;
  std::set<std::string> seen;
  for (const Dataset& dataset : datasets) {
    for (const Issue& issue : dataset.issues) {
      if (seen.insert(to_string(issue)).second) issues.push_back(&issue);
    }
  }
  return issues;
}

std::string_view severity_name(Severity severity) {
  constexpr std::string_view kNames[] = {"info", "warning", "error"};
  return kNames[static_cast<size_t>(severity)];
}

Json dataset_json(const Dataset& dataset) {
  const DatasetOptions& options = dataset.options;
  std::vector<int64_t> pictures(options.subsets.size());
  for (const Sample& sample : dataset.samples) ++pictures.at(sample.subset);
  Json subsets = Json::array();
  for (size_t i = 0; i < options.subsets.size(); ++i) {
    subsets.push_back({{"image_dir", options.subsets[i].image_dir.string()},
                       {"pictures", pictures[i]},
                       {"num_repeats", options.subsets[i].num_repeats},
                       {"is_reg", options.subsets[i].is_reg}});
  }
  Json buckets = Json::array();
  for (const BucketCount& bucket : bucket_counts(dataset)) {
    buckets.push_back({{"size", {bucket.size.width, bucket.size.height}}, {"items", bucket.items}});
  }
  return {{"resolution", {options.bucket.resolution.width, options.bucket.resolution.height}},
          {"batch_size", options.batch_size},
          {"subsets", subsets},
          {"buckets", buckets}};
}

}  // namespace

std::string to_string(const Issue& issue) {
  const std::string place = issue.path.empty() ? "" : issue.path.string() + ": ";
  std::string message = issue.message;
  if (!issue.action.empty() && message.ends_with('.')) message.pop_back();
  return place + message + (issue.action.empty() ? "" : "; " + issue.action);
}

std::vector<ReportLine> report_lines(const std::vector<Dataset>& datasets) {
  const std::vector<const Issue*> issues = distinct(datasets);
  // Findings that are summarised: of one kind and with one outcome.
  const auto key_of = [](const Issue& issue) { return std::pair(issue.kind, issue.treatment); };
  std::map<std::pair<std::string, Treatment>, size_t> counts, told;
  for (const Issue* issue : issues) ++counts[key_of(*issue)];
  std::vector<ReportLine> lines;
  for (const Issue* issue : issues) {
    const auto key = key_of(*issue);
    const size_t count = counts.at(key);
    const size_t number = ++told[key];
    const bool is_told = issue->kind.empty() || issue->severity == Severity::Error || count <= kTold || number < kTold;
    if (is_told) lines.push_back({issue->severity, to_string(*issue)});
    if (is_told || number != count) continue;
    lines.push_back({issue->severity, "and " + std::to_string(count - kTold + 1) + " more findings of this kind (" +
                                          issue->kind + "), such as " + to_string(*issue)});
  }
  return lines;
}

HealthCounts health_counts(const std::vector<Dataset>& datasets) {
  HealthCounts counts;
  for (const Dataset& dataset : datasets) {
    counts.pictures += std::ssize(dataset.samples);
    counts.items += dataset.item_count();
  }
  for (const Issue* issue : distinct(datasets)) {
    counts.left_out += issue->treatment == Treatment::LeftOut ? 1 : 0;
    counts.fixed += issue->treatment == Treatment::Fixed ? 1 : 0;
    counts.blocking += issue->treatment == Treatment::Blocks ? 1 : 0;
    counts.noted += issue->treatment == Treatment::Used && issue->severity == Severity::Warning ? 1 : 0;
  }
  return counts;
}

std::string summary_text(const HealthCounts& counts) {
  std::string text = "Found " + base::counted(counts.pictures, "picture") + "; an epoch has " +
                     std::to_string(counts.items) + ", with repeats.";
  if (counts.left_out + counts.fixed + counts.blocking + counts.noted == 0)
    return text + " Nothing is wrong with them.";
  text += " Findings: " + std::to_string(counts.left_out) + " left out, " + std::to_string(counts.fixed) + " fixed";
  if (counts.noted > 0) text += ", " + std::to_string(counts.noted) + " to look at (the warnings above)";
  if (counts.blocking > 0) text += ", " + std::to_string(counts.blocking) + " blocking";
  return text + ".";
}

std::string health_json(const std::vector<Dataset>& datasets) {
  const HealthCounts counts = health_counts(datasets);
  Json findings = Json::array();
  for (const Issue* issue : distinct(datasets)) {
    findings.push_back({{"kind", issue->kind},
                        {"severity", severity_name(issue->severity)},
                        {"path", issue->path.string()},
                        {"found", issue->message},
                        {"action", issue->action},
                        {"treatment", to_string(issue->treatment)}});
  }
  Json sets = Json::array();
  for (const Dataset& dataset : datasets) sets.push_back(dataset_json(dataset));
  const Json report = {{"cinnabar_dataset_report", 1},
                       {"summary",
                        {{"pictures", counts.pictures},
                         {"items", counts.items},
                         {"left_out", counts.left_out},
                         {"fixed", counts.fixed},
                         {"blocking", counts.blocking},
                         {"noted", counts.noted}}},
                       {"datasets", sets},
                       {"findings", findings}};
  return report.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cinnabar::data
