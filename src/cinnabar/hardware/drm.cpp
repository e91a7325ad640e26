#include "cinnabar/hardware/drm.h"

#include <algorithm>

#include "cinnabar/hardware/chips.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

const std::string kDrm = "/sys/class/drm/";

bool is_numbered(const std::string& name, const std::string& begin) {
  return name.size() > begin.size() && name.starts_with(begin) &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(begin.size()), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

bool has_display(const FileTree& files, const std::string& card, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(card + "-") && files.text(kDrm + name + "/status").value_or("") == "connected";
  });
}

// Memory in use, load, temperature and power.
void read_sensors(const FileTree& files, DrmCard& card) {
  card.vram_used_bytes = files.number(card.folder + "/mem_info_vram_used");
  card.gtt_used_bytes = files.number(card.folder + "/mem_info_gtt_used");
  card.utilisation_percent = scaled_number(files, card.folder + "/gpu_busy_percent", 1.0);
  for (const std::string& name : files.names(card.folder + "/hwmon")) {
    const std::string folder = card.folder + "/hwmon/" + name;
    const std::string driver = files.text(folder + "/name").value_or("amdgpu");
    if (driver != "amdgpu") continue;
    card.temperature_c = labelled_temperature(files, folder, "edge");
    if (!card.temperature_c) card.temperature_c = labelled_temperature(files, folder, "junction");
    card.power_w = scaled_number(files, folder + "/power1_average", 1e6);
    if (!card.power_w) card.power_w = scaled_number(files, folder + "/power1_input", 1e6);
  }
}

}  // namespace

std::optional<double> scaled_number(const FileTree& files, const std::string& path, double divisor) {
  const auto value = files.number(path);
  if (!value) return std::nullopt;
  return static_cast<double>(*value) / divisor;
}

std::optional<double> labelled_temperature(const FileTree& files, const std::string& folder, std::string_view label) {
  for (const char* sensor : {"temp1", "temp2", "temp3"}) {
    const std::string base = folder + "/" + sensor;
    if (files.text(base + "_label").value_or("") == label) return scaled_number(files, base + "_input", 1000.0);
  }
  return std::nullopt;
}

std::string assigned(const std::string& text, const std::string& name) {
  for (const std::string& line : lines_of(text)) {
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=')
      return trimmed(std::string_view(line).substr(name.size() + 1));
  }
  return {};
}

std::vector<DrmCard> read_drm(const FileTree& files) {
  std::vector<DrmCard> cards;
  const std::vector<std::string> names = files.names(kDrm);
  for (const std::string& name : names) {
    if (!is_numbered(name, "card")) continue;
    DrmCard card{.folder = kDrm + name + "/device"};
    card.vendor = files.number(card.folder + "/vendor").value_or(0);
    if (card.vendor != kVendorAmd && card.vendor != kVendorNvidia) continue;
    const std::string uevent = files.text(card.folder + "/uevent").value_or("");
    card.bdf = lowered(assigned(uevent, "PCI_SLOT_NAME"));
    card.driver = assigned(uevent, "DRIVER");
    card.device_id = files.number(card.folder + "/device");
    card.revision = files.number(card.folder + "/revision");
    card.vram_bytes = files.number(card.folder + "/mem_info_vram_total");
    card.visible_vram_bytes = files.number(card.folder + "/mem_info_vis_vram_total");
    card.gtt_bytes = files.number(card.folder + "/mem_info_gtt_total");
    card.has_display = has_display(files, name, names);
    read_sensors(files, card);
    cards.push_back(std::move(card));
  }
  return cards;
}

std::map<std::string, int64_t> read_render_nodes(const FileTree& files) {
  std::map<std::string, int64_t> nodes;
  for (const std::string& name : files.names(kDrm)) {
    if (!is_numbered(name, "renderD")) continue;
    const std::string uevent = files.text(kDrm + name + "/device/uevent").value_or("");
    const std::string bdf = lowered(assigned(uevent, "PCI_SLOT_NAME"));
    if (!bdf.empty()) nodes[bdf] = *integer_of(std::string_view(name).substr(7));
  }
  return nodes;
}

}  // namespace cinnabar::hardware
