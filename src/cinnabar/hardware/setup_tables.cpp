#include "cinnabar/hardware/setup_tables.h"

#include <algorithm>

namespace cinnabar::hardware {

namespace {

std::vector<std::vector<std::string>> rows_of(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : lines_of(text)) {
    if (trimmed(line).empty() || trimmed(line).front() == '#') continue;
    std::vector<std::string> words = parts_of(line, ' ');
    std::erase(words, "");
    rows.push_back(std::move(words));
  }
  return rows;
}

}  // namespace

std::vector<TorchSource> torch_sources(std::string_view text) {
  std::vector<TorchSource> sources;
  for (const std::vector<std::string>& row : rows_of(text)) {
    if (row.size() < 3) continue;
    sources.push_back({row[0], row[1], row[2], row.size() > 3 ? row[3] : ""});
  }
  return sources;
}

RocmTable rocm_table(std::string_view text) {
  RocmTable table;
  for (const std::vector<std::string>& row : rows_of(text)) {
    if (row.size() < 3) continue;
    const std::vector<std::string> rest(row.begin() + 2, row.end());
    if (row[0] == "wheel") table.wheels.push_back({row[1], rest});
    if (row[0] == "device") table.devices.push_back({row[1], rest});
    if (row[0] == "driver") table.oldest_driver[row[1]] = version_of(row[2]);
    if (row[0] == "kernel") table.first_kernel[row[1]] = version_of(row[2]);
  }
  return table;
}

}  // namespace cinnabar::hardware
