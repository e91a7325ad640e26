#include <algorithm>

#include "cinnabar/hardware/smi.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

// Which column holds what; titles carry units ("memory.total [MiB]").
class Columns {
 public:
  explicit Columns(const std::string& title_line) : titles_(parts_of(title_line, ',')) {}

  bool are_titles() const { return index("name") < titles_.size(); }
  std::string value(const std::vector<std::string>& row, std::string_view title) const {
    const size_t column = index(title);
    return column < row.size() && is_known(row[column]) ? row[column] : std::string();
  }

 private:
  size_t index(std::string_view title) const {
    const auto found = std::find_if(titles_.begin(), titles_.end(), [&](const std::string& text) {
      return text == title || (text.starts_with(title) && text.size() > title.size() && text[title.size()] == ' ');
    });
    return static_cast<size_t>(found - titles_.begin());
  }

  std::vector<std::string> titles_;
};

std::optional<int64_t> mebibytes(const std::string& text) {
  const auto number = number_of(text);
  return number ? whole_of(*number * (1 << 20)) : std::nullopt;
}

SmiGpu gpu_of_row(const Columns& columns, const std::vector<std::string>& row) {
  SmiGpu gpu;
  gpu.index = whole_of(columns.value(row, "index"));
  gpu.name = columns.value(row, "name");
  gpu.bdf = normal_bdf(columns.value(row, "pci.bus_id"));
  gpu.vram_bytes = mebibytes(columns.value(row, "memory.total"));
  gpu.vram_used_bytes = mebibytes(columns.value(row, "memory.used"));
  gpu.utilisation_percent = number_of(columns.value(row, "utilization.gpu"));
  gpu.temperature_c = number_of(columns.value(row, "temperature.gpu"));
  gpu.power_w = number_of(columns.value(row, "power.draw"));
  const std::string capability = columns.value(row, "compute_cap");
  if (version_of(capability).size() == 2) gpu.compute_capability = capability;
  return gpu;
}

}  // namespace

SmiReport read_nvidia_smi(const Sources& sources) {
  const CommandResult result = sources.run(command_line::kNvidiaSmi);
  SmiReport report;
  if (!result.is_installed()) return report;
  report.is_installed = true;
  std::vector<std::string> lines = lines_of(result.output);
  // Warnings may stand before the table.
  const auto titles =
      std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return Columns(line).are_titles(); });
  if (result.exit != 0 || titles == lines.end()) {
    report.is_invalid = true;
    report.reason = trimmed(result.output.substr(0, 200));
    return report;
  }
  const Columns columns(*titles);
  for (auto line = titles + 1; line != lines.end(); ++line) {
    const std::vector<std::string> row = parts_of(*line, ',');
    if (row.size() < 2) continue;
    SmiGpu gpu = gpu_of_row(columns, row);
    if (gpu.name.empty() && gpu.bdf.empty()) {
      report.is_invalid = true;
      continue;
    }
    report.gpus.push_back(std::move(gpu));
  }
  return report;
}

}  // namespace cinnabar::hardware
