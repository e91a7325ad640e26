#include "cinnabar/hardware/kfd.h"

#include <array>
#include <cstdio>
#include <map>

#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

const std::string kNodes = "/sys/class/kfd/kfd/topology/nodes/";
// Bits of an io_link's flags that say that 32- or 64-bit atomics over PCIe are missing.
constexpr int64_t kNoAtomics = 0x4 | 0x8;

using Properties = std::map<std::string, int64_t>;

// "name value" lines. Values over 63 bits (unique ids) are left out; nothing here needs them.
Properties properties_of(const std::string& text) {
  Properties properties;
  for (const std::string& line : lines_of(text)) {
    const size_t blank = line.find(' ');
    if (blank == std::string::npos) continue;
    if (const auto value = integer_of(std::string_view(line).substr(blank + 1))) {
      properties[line.substr(0, blank)] = *value;
    }
  }
  return properties;
}

std::optional<int64_t> positive(const Properties& properties, const char* name) {
  const auto found = properties.find(name);
  if (found == properties.end() || found->second <= 0) return std::nullopt;
  return found->second;
}

std::string bdf_of(const Properties& properties) {
  const auto location = static_cast<unsigned>(positive(properties, "location_id").value_or(0));
  const auto domain = static_cast<unsigned>(positive(properties, "domain").value_or(0));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", domain, location >> 8 & 0xff, location >> 3 & 0x1f,
                location & 0x7);
  return text.data();
}

void read_memory(const FileTree& files, const std::string& folder, KfdNode& node) {
  for (const std::string& bank : files.names(folder + "/mem_banks")) {
    const auto text = files.text(folder + "/mem_banks/" + bank + "/properties");
    if (!text) continue;
    const Properties properties = properties_of(*text);
    const int64_t size = positive(properties, "size_in_bytes").value_or(0);
    const int64_t heap = positive(properties, "heap_type").value_or(0);
    if (heap == 1) node.visible_bytes += size;
    if (heap == 2) node.hidden_bytes += size;
  }
}

void read_links(const FileTree& files, const std::string& folder, KfdNode& node) {
  for (const std::string& link : files.names(folder + "/io_links")) {
    const auto text = files.text(folder + "/io_links/" + link + "/properties");
    if (!text) continue;
    const Properties properties = properties_of(*text);
    if ((positive(properties, "flags").value_or(0) & kNoAtomics) != 0) node.has_pcie_atomics = false;
  }
}

}  // namespace

std::vector<KfdNode> read_kfd(const FileTree& files) {
  std::vector<KfdNode> nodes;
  for (const std::string& name : files.names(kNodes)) {
    const auto number = integer_of(name);
    const std::string folder = kNodes + name;
    const auto gpu_id = files.number(folder + "/gpu_id");
    const auto text = files.text(folder + "/properties");
    if (!number || !gpu_id || *gpu_id == 0 || !text || text->empty()) continue;
    const Properties properties = properties_of(*text);
    KfdNode node{.node = *number, .gpu_id = *gpu_id, .bdf = bdf_of(properties)};
    if (const auto version = positive(properties, "gfx_target_version")) node.gfx = gfx_of_target_version(*version);
    node.device_id = positive(properties, "device_id");
    node.wave_size = positive(properties, "wave_front_size");
    node.render_minor = positive(properties, "drm_render_minor");
    const auto simds = positive(properties, "simd_count");
    const auto per_unit = positive(properties, "simd_per_cu");
    if (simds && per_unit) node.compute_units = *simds / *per_unit;
    read_memory(files, folder, node);
    read_links(files, folder, node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace cinnabar::hardware
