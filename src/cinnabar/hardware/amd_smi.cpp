#include <map>
#include <nlohmann/json.hpp>

#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/smi.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

using nlohmann::json;

// The member at a path of names; null when a part of it is missing or is no object.
const json& at(const json& value, std::initializer_list<const char*> path) {
  static const json kNothing;
  const json* here = &value;
  for (const char* name : path) {
    if (!here->is_object()) return kNothing;
    const auto found = here->find(name);
    if (found == here->end()) return kNothing;
    here = &*found;
  }
  return *here;
}

// Leaves are numbers, {"value", "unit"}, or texts such as "N/A".
std::optional<double> number(const json& leaf) {
  if (leaf.is_number()) return leaf.get<double>();
  if (leaf.is_string()) return number_of(leaf.get<std::string>());
  if (leaf.is_object()) return number(at(leaf, {"value"}));
  return std::nullopt;
}

std::optional<int64_t> whole(const json& leaf) {
  const auto value = number(leaf);
  return value ? whole_of(*value) : std::nullopt;
}

std::string text(const json& leaf) {
  return leaf.is_string() && is_known(leaf.get<std::string>()) ? trimmed(leaf.get<std::string>()) : std::string();
}

// "0x744c".
std::optional<int64_t> id(const json& leaf) {
  return leaf.is_string() ? integer_of(leaf.get<std::string>()) : whole(leaf);
}

// Units are binary: "MB" means 2^20.
std::optional<int64_t> bytes(const json& leaf) {
  const auto value = number(leaf);
  if (!value) return std::nullopt;
  std::string unit = lowered(text(at(leaf, {"unit"})));
  if (leaf.is_string()) unit = lowered(leaf.get<std::string>());
  double factor = 1 << 20;
  if (contains(unit, "gb") || contains(unit, "gib")) factor = 1 << 30;
  if (contains(unit, "kb") || contains(unit, "kib")) factor = 1 << 10;
  if (unit == "b" || unit == "bytes") factor = 1;
  return whole_of(*value * factor);
}

// A list up to 6.4; {"gpu_data": [...]} in 7.x. Nothing when it is neither.
std::optional<json> list_of(const CommandResult& result) {
  json value = json::parse(json_part(result.output), nullptr, false);
  if (value.is_object()) {
    for (const char* name : {"gpu_data", "gpu", "gpus"}) {
      if (value.contains(name) && value[name].is_array()) return value[name];
    }
    return std::nullopt;
  }
  if (!value.is_array()) return std::nullopt;
  return value;
}

using GpuTable = std::map<int64_t, SmiGpu>;

SmiGpu* entry_of(GpuTable& table, const json& entry) {
  const auto index = whole(at(entry, {"gpu"}));
  if (!index) return nullptr;
  SmiGpu& gpu = table[*index];
  gpu.index = index;
  return &gpu;
}

void take_list(GpuTable& table, const json& entry) {
  SmiGpu* gpu = entry_of(table, entry);
  if (gpu == nullptr) return;
  gpu->bdf = normal_bdf(text(at(entry, {"bdf"})));
  gpu->node = whole(at(entry, {"node_id"}));
  gpu->gpu_id = whole(at(entry, {"kfd_id"}));
}

void take_static(GpuTable& table, const json& entry) {
  SmiGpu* gpu = entry_of(table, entry);
  if (gpu == nullptr) return;
  const std::string bdf = normal_bdf(text(at(entry, {"bus", "bdf"})));
  if (!bdf.empty()) gpu->bdf = bdf;
  gpu->name = text(at(entry, {"asic", "market_name"}));
  if (gpu->name.empty()) gpu->name = text(at(entry, {"board", "product_name"}));
  gpu->device_id = id(at(entry, {"asic", "device_id"}));
  gpu->revision = id(at(entry, {"asic", "rev_id"}));
  gpu->compute_units = whole(at(entry, {"asic", "num_compute_units"}));
  gpu->gfx = normal_gfx(text(at(entry, {"asic", "target_graphics_version"})));
  gpu->vram_bytes = bytes(at(entry, {"vram", "size"}));
}

void take_metric(GpuTable& table, const json& entry) {
  SmiGpu* gpu = entry_of(table, entry);
  if (gpu == nullptr) return;
  gpu->utilisation_percent = number(at(entry, {"usage", "gfx_activity"}));
  gpu->power_w = number(at(entry, {"power", "socket_power"}));
  gpu->temperature_c = number(at(entry, {"temperature", "edge"}));
  if (!gpu->temperature_c) gpu->temperature_c = number(at(entry, {"temperature", "hotspot"}));
  if (!gpu->vram_bytes) gpu->vram_bytes = bytes(at(entry, {"mem_usage", "total_vram"}));
  gpu->vram_used_bytes = bytes(at(entry, {"mem_usage", "used_vram"}));
}

}  // namespace

SmiReport read_amd_smi(const Sources& sources) {
  SmiReport report;
  GpuTable table;
  const auto read = [&](const char* command, void (*take)(GpuTable&, const json&)) {
    const CommandResult result = sources.run(command);
    if (!result.is_installed()) return;
    report.is_installed = true;
    const auto list = list_of(result);
    if (result.exit != 0 || !list) {
      report.is_invalid = true;
      if (report.reason.empty()) report.reason = trimmed(result.output.substr(0, 200));
      return;
    }
    for (const json& entry : *list) take(table, entry);
  };
  read(command_line::kAmdSmiList, take_list);
  read(command_line::kAmdSmiStatic, take_static);
  read(command_line::kAmdSmiMetric, take_metric);
  const CommandResult version = sources.run(command_line::kAmdSmiVersion);
  if (version.is_installed()) {
    report.is_installed = true;
    json value = json::parse(json_part(version.output), nullptr, false);
    if (value.is_array() && !value.empty()) value = json(value[0]);
    const std::string rocm = text(at(value, {"rocm_version"}));
    if (!version_of(rocm).empty()) report.rocm_version = rocm;
    if (version.exit != 0 || !value.is_object()) report.is_invalid = true;
  }
  for (auto& [index, gpu] : table) report.gpus.push_back(std::move(gpu));
  return report;
}

}  // namespace cinnabar::hardware
