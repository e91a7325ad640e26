#include "cinnabar/cli/runs_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cinnabar/base/local_time.h"
#include "cinnabar/cli/event_view.h"
#include "cinnabar/jobs/run_record.h"

namespace cinnabar::cli {

namespace {

using nlohmann::ordered_json;

// Letters of UTF-8, as far as a table can know: bytes that do not continue one.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

template <class T>
void put(ordered_json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

void put(ordered_json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

void put_number(ordered_json& json, const char* key, const std::optional<double>& value) {
  if (!value) return;
  if (std::isfinite(*value)) {
    json[key] = *value;
  } else {
    json[key] = loss_text(value);
  }
}

}  // namespace

std::string plain(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return text;
}

std::string time_text(const std::optional<double>& time_s, bool has_seconds) {
  if (!time_s || !std::isfinite(*time_s) || std::abs(*time_s) > 1e11) return "-";
  return base::local_time(has_seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", static_cast<std::time_t>(*time_s));
}

std::string bytes_text(int64_t bytes) {
  const std::array<const char*, 5> units = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

std::string loss_text(const std::optional<double>& loss) {
  if (!loss) return "-";
  if (std::isnan(*loss)) return "nan";
  if (std::isinf(*loss)) return *loss > 0 ? "inf" : "-inf";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4f", *loss);
  return text.data();
}

std::string step_text(const jobs::RunRow& run) {
  if (!run.step) return "-";
  std::string text = std::to_string(*run.step);
  if (run.total.value_or(0) > 0) text += "/" + std::to_string(*run.total);
  return text;
}

std::string length_text(const jobs::RunRow& run) {
  if (!run.started) return "-";
  if (run.state == "running") return duration_text(jobs::now_s() - *run.started);
  return run.ended ? duration_text(*run.ended - *run.started) : "-";
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text += std::string(widths[i] - width_of(row[i]) + 2, ' ');
    }
    text += "\n";
  }
  return text;
}

ordered_json run_json(const jobs::RunRow& run, const std::string& folder) {
  ordered_json json = {{"id", run.id}, {"name", run.name}, {"command", run.command}, {"state", run.state}};
  if (!run.is_certain) json["is_certain"] = false;
  put(json, "started", run.started);
  put(json, "ended", run.ended);
  put(json, "exit_status", run.exit_status);
  put(json, "step", run.step);
  put(json, "total", run.total);
  put(json, "epoch", run.epoch);
  put(json, "epochs", run.epochs);
  put_number(json, "loss", run.loss);
  put_number(json, "average_loss", run.average_loss);
  put(json, "message", run.message);
  put(json, "parent", run.parent);
  put(json, "version", run.program_version);
  if (run.record_version > 0) json["record_version"] = run.record_version;
  put(json, "libtorch", run.libtorch);
  put(json, "work_folder", run.work_folder);
  put(json, "host", run.host);
  if (run.is_removed) json["is_removed"] = true;
  json["folder"] = folder;
  return json;
}

}  // namespace cinnabar::cli
