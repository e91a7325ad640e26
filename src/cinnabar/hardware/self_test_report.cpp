#include "cinnabar/hardware/self_test_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

using nlohmann::ordered_json;

std::string row_text(const SelfTestRow& row) {
  std::string text = formatted("  %-22s %-5s ", row.name.c_str(), row.type.c_str());
  if (!row.problem.empty()) return text + "FAILED: " + row.problem + "\n";
  text += formatted("%-6s error %.1e of %.0e", row.is_good ? "good" : "WRONG", row.error, row.limit);
  text += formatted("  %8.2f ms, first %8.2f ms", row.ms, row.first_ms);
  if (row.gflops) text += formatted("  %9.1f GFLOP/s", *row.gflops);
  return text + "\n";
}

std::string text_of(const ordered_json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Errors that are no numbers any more come as text.
double event_number(const ordered_json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end()) return 0.0;
  return found->is_number() ? found->get<double>() : std::numeric_limits<double>::infinity();
}

ordered_json json_number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json("inf"); }

}  // namespace

bool SelfTestReport::is_good() const {
  return problem.empty() && !rows.empty() &&
         std::all_of(rows.begin(), rows.end(), [](const SelfTestRow& row) { return row.is_good; });
}

std::string self_test_text(const SelfTestReport& report) {
  std::string text = "\nSelf-test of the engine";
  if (!report.device.empty()) text += " on " + report.device + ", libtorch " + report.libtorch;
  text += "\n";
  if (!report.attention.empty()) text += "  Attention: " + report.attention + "\n";
  for (const SelfTestRow& row : report.rows) text += row_text(row);
  if (!report.problem.empty()) return text + "  It did not come to its end: " + report.problem + "\n";
  const auto bad = std::count_if(report.rows.begin(), report.rows.end(), [](const auto& row) { return !row.is_good; });
  if (bad == 0) return text + formatted("  All %zu good, %.1f s.\n", report.rows.size(), report.seconds);
  return text + formatted("  %lld of %zu wrong: training with these kernels would give wrong results.\n",
                          static_cast<long long>(bad), report.rows.size());
}

ordered_json self_test_json(const SelfTestReport& report) {
  ordered_json rows = ordered_json::array();
  for (const SelfTestRow& row : report.rows) {
    ordered_json entry = {{"name", row.name}, {"type", row.type}, {"is_good", row.is_good}};
    if (row.problem.empty()) {
      entry["error"] = json_number(row.error);
      entry["limit"] = row.limit;
      entry["first_ms"] = row.first_ms;
      entry["ms"] = row.ms;
      if (row.gflops) entry["gflops"] = *row.gflops;
    } else {
      entry["problem"] = row.problem;
    }
    rows.push_back(entry);
  }
  return {{"is_good", report.is_good()},
          {"device", report.device},
          {"libtorch", report.libtorch},
          {"attention", report.attention},
          {"seconds", report.seconds},
          {"rows", rows},
          {"problem", report.problem.empty() ? ordered_json() : ordered_json(report.problem)}};
}

void take_self_test_event(SelfTestReport& report, const ordered_json& event) {
  if (text_of(event, "type") != "self_test") return;
  if (event.contains("device")) {
    report.device = text_of(event, "device");
    report.libtorch = text_of(event, "libtorch");
    report.attention = text_of(event, "attention");
    return;
  }
  SelfTestRow row{.name = text_of(event, "name"),
                  .type = text_of(event, "format"),
                  .error = event_number(event, "error"),
                  .limit = event_number(event, "limit"),
                  .first_ms = event_number(event, "first_ms"),
                  .ms = event_number(event, "ms"),
                  .problem = text_of(event, "problem")};
  if (event.contains("gflops")) row.gflops = event_number(event, "gflops");
  const auto good = event.find("is_good");
  row.is_good = good != event.end() && good->is_boolean() && good->get<bool>();
  report.rows.push_back(std::move(row));
}

}  // namespace cinnabar::hardware
