#include <array>
#include <cstdint>

#include "cinnabar/hardware/nvml_layout.h"
#include "cinnabar/hardware/shared_library.h"
#include "cinnabar/hardware/smi_libraries.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

constexpr const char* kTitles =
    "index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], memory.used [MiB], utilization.gpu [%], "
    "temperature.gpu, power.draw [W], compute_cap\n";
constexpr unsigned long long kMebibyte = 1 << 20;

std::string row_of(const SharedLibrary& nvml, unsigned index) {
  const std::string unknown = "[N/A]";
  void* device = nullptr;
  if (!nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &device)) return {};
  std::array<char, 96> name{};
  NvmlMemory memory;
  NvmlUse use;
  NvmlPci pci;
  unsigned temperature = 0;
  unsigned milliwatts = 0;
  int major = 0;
  int minor = 0;
  const bool has_name = nvml.call("nvmlDeviceGetName", device, name.data(), static_cast<unsigned>(name.size() - 1));
  const bool has_pci = nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci);
  const bool has_memory = nvml.call("nvmlDeviceGetMemoryInfo", device, &memory);
  const bool has_use = nvml.call("nvmlDeviceGetUtilizationRates", device, &use);
  const bool has_heat = nvml.call("nvmlDeviceGetTemperature", device, 0U, &temperature);
  const bool has_power = nvml.call("nvmlDeviceGetPowerUsage", device, &milliwatts);
  const bool has_arch = nvml.call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor);
  std::string row = std::to_string(index) + ", " + (has_name ? name.data() : unknown) + ", " + unknown + ", ";
  row += (has_pci ? formatted("%08x:%02x:%02x.0", pci.domain, pci.bus, pci.device) : unknown) + ", " + unknown + ", ";
  row += (has_memory ? formatted("%llu MiB", memory.total / kMebibyte) : unknown) + ", ";
  row += (has_memory ? formatted("%llu MiB", memory.used / kMebibyte) : unknown) + ", ";
  row += (has_use ? formatted("%u %%", use.gpu) : unknown) + ", ";
  row += (has_heat ? formatted("%u", temperature) : unknown) + ", ";
  row += (has_power ? formatted("%.2f W", milliwatts / 1000.0) : unknown) + ", ";
  return row + (has_arch ? formatted("%d.%d", major, minor) : unknown) + "\n";
}

}  // namespace

std::string nvml_text(const std::string& library) {
  const SharedLibrary nvml(library.empty() ? std::vector<std::string>{"libnvidia-ml.so.1", "libnvidia-ml.so"}
                                           : std::vector<std::string>{library});
  unsigned count = 0;
  if (!nvml.is_open() || !nvml.call("nvmlInit_v2") || !nvml.call("nvmlDeviceGetCount_v2", &count)) return {};
  std::string rows;
  for (unsigned i = 0; i < count && i < 256; ++i) rows += row_of(nvml, i);
  nvml.call("nvmlShutdown");
  return rows.empty() ? std::string() : kTitles + rows;
}

}  // namespace cinnabar::hardware
