#include "cinnabar/hardware/smi_libraries.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cinnabar/hardware/shared_library.h"

namespace cinnabar::hardware {

namespace {

using nlohmann::ordered_json;

// Only functions whose results are plain numbers are called: the structures of both libraries change between releases.
constexpr uint64_t kAmdGpus = 1 << 1;  // AMDSMI_INIT_AMD_GPUS
constexpr unsigned kVideoMemory = 0;   // of both libraries
constexpr unsigned kEdge = 0;
constexpr unsigned kHotspot = 1;
constexpr unsigned kCurrent = 0;

std::string bdf_text(uint64_t domain, uint64_t bus, uint64_t device, uint64_t function) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", static_cast<unsigned>(domain),
                static_cast<unsigned>(bus & 0xff), static_cast<unsigned>(device & 0x1f),
                static_cast<unsigned>(function & 0x7));
  return text.data();
}

ordered_json amd_entry(const SharedLibrary& smi, void* device, size_t index) {
  ordered_json entry = {{"gpu", index}};
  uint64_t bdf = 0;
  uint64_t total = 0;
  uint64_t used = 0;
  int64_t degrees = 0;
  if (smi.call("amdsmi_get_gpu_device_bdf", device, &bdf)) {
    // From the lowest bit: function 3, device 5, bus 8, domain 48.
    entry["bdf"] = bdf_text(bdf >> 16, bdf >> 8, bdf >> 3, bdf);
  }
  if (smi.call("amdsmi_get_gpu_memory_total", device, kVideoMemory, &total))
    entry["vram"]["size"] = {{"value", total}, {"unit", "B"}};
  if (smi.call("amdsmi_get_gpu_memory_usage", device, kVideoMemory, &used))
    entry["mem_usage"]["used_vram"] = {{"value", used}, {"unit", "B"}};
  for (const auto& [name, sensor] : {std::pair("edge", kEdge), std::pair("hotspot", kHotspot)}) {
    if (smi.call("amdsmi_get_temp_metric", device, sensor, kCurrent, &degrees))
      entry["temperature"][name] = {{"value", degrees}, {"unit", "C"}};
  }
  return entry;
}

std::vector<void*> amd_devices(const SharedLibrary& smi) {
  uint32_t count = 0;
  if (!smi.call("amdsmi_get_socket_handles", &count, static_cast<void**>(nullptr)) || count > 1024) return {};
  std::vector<void*> sockets(count);
  if (!smi.call("amdsmi_get_socket_handles", &count, sockets.data())) return {};
  std::vector<void*> devices;
  for (void* socket : sockets) {
    uint32_t processors = 0;
    if (!smi.call("amdsmi_get_processor_handles", socket, &processors, static_cast<void**>(nullptr))) continue;
    if (processors > 1024) continue;
    std::vector<void*> handles(processors);
    if (smi.call("amdsmi_get_processor_handles", socket, &processors, handles.data()))
      devices.insert(devices.end(), handles.begin(), handles.end());
  }
  return devices;
}

ordered_json rocm_entry(const SharedLibrary& smi, uint32_t index) {
  ordered_json entry = ordered_json::object();
  uint64_t number = 0;
  uint32_t busy = 0;
  int64_t millidegrees = 0;
  std::array<char, 128> name{};
  if (smi.call("rsmi_dev_pci_id_get", index, &number))
    entry["PCI Bus"] = bdf_text(number >> 32, number >> 8, number >> 3, number);
  if (smi.call("rsmi_dev_name_get", index, name.data(), name.size() - 1)) entry["Card Series"] = name.data();
  if (smi.call("rsmi_dev_memory_total_get", index, kVideoMemory, &number))
    entry["VRAM Total Memory (B)"] = std::to_string(number);
  if (smi.call("rsmi_dev_memory_usage_get", index, kVideoMemory, &number))
    entry["VRAM Total Used Memory (B)"] = std::to_string(number);
  if (smi.call("rsmi_dev_busy_percent_get", index, &busy)) entry["GPU use (%)"] = std::to_string(busy);
  for (const auto& [label, sensor] : {std::pair("edge", kEdge), std::pair("junction", kHotspot)}) {
    if (smi.call("rsmi_dev_temp_metric_get", index, sensor, kCurrent, &millidegrees))
      entry["Temperature (Sensor " + std::string(label) + ") (C)"] =
          std::to_string(static_cast<double>(millidegrees) / 1000.0);
  }
  if (smi.call("rsmi_dev_power_ave_get", index, uint32_t{0}, &number))
    entry["Average Graphics Package Power (W)"] = std::to_string(static_cast<double>(number) / 1e6);
  return entry;
}

}  // namespace

std::string amd_smi_text(const std::string& library) {
  const SharedLibrary smi(library.empty() ? std::vector<std::string>{"libamd_smi.so", "/opt/rocm/lib/libamd_smi.so"}
                                          : std::vector<std::string>{library});
  if (!smi.is_open() || !smi.call("amdsmi_init", kAmdGpus)) return {};
  ordered_json list = ordered_json::array();
  for (void* device : amd_devices(smi)) list.push_back(amd_entry(smi, device, list.size()));
  smi.call("amdsmi_shut_down");
  return list.empty() ? std::string() : list.dump(1) + "\n";
}

std::string rocm_smi_text(const std::string& library) {
  const SharedLibrary smi(library.empty()
                              ? std::vector<std::string>{"librocm_smi64.so", "librocm_smi64.so.1", "librocm_smi64.so.7",
                                                         "/opt/rocm/lib/librocm_smi64.so"}
                              : std::vector<std::string>{library});
  uint32_t count = 0;
  if (!smi.is_open() || !smi.call("rsmi_init", uint64_t{0}) || !smi.call("rsmi_num_monitor_devices", &count)) return {};
  ordered_json cards = ordered_json::object();
  for (uint32_t i = 0; i < count && i < 256; ++i) cards["card" + std::to_string(i)] = rocm_entry(smi, i);
  smi.call("rsmi_shut_down");
  return cards.empty() ? std::string() : cards.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace cinnabar::hardware
