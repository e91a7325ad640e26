// Graphics cards in /sys/class/drm: memory, temperature, power and use, without any tool.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

struct DrmCard {
  std::string folder;  // /sys/class/drm/card0/device
  std::string bdf{};
  int64_t vendor = 0;
  std::optional<int64_t> device_id{};
  std::optional<int64_t> revision{};
  std::string driver{};
  std::optional<int64_t> vram_bytes{};
  std::optional<int64_t> vram_used_bytes{};
  std::optional<int64_t> visible_vram_bytes{};
  std::optional<int64_t> gtt_bytes{};
  std::optional<int64_t> gtt_used_bytes{};
  std::optional<double> utilisation_percent{};
  std::optional<double> temperature_c{};  // edge, else hotspot
  std::optional<double> power_w{};
  bool has_display = false;
};

// Cards of AMD and NVIDIA. Only card<digits>: the connectors beside them (card0-DP-1) are no cards.
std::vector<DrmCard> read_drm(const FileTree& files);
// PCI address -> minor of /dev/dri/renderD<minor>.
std::map<std::string, int64_t> read_render_nodes(const FileTree& files);

// A number of a file, divided.
std::optional<double> scaled_number(const FileTree& files, const std::string& path, double divisor);
// In degrees Celsius, of the sensor of a hwmon folder whose label is `label`.
std::optional<double> labelled_temperature(const FileTree& files, const std::string& folder, std::string_view label);

// A value of a file of lines NAME=VALUE ("DRIVER=amdgpu").
std::string assigned(const std::string& text, const std::string& name);

}  // namespace cinnabar::hardware
