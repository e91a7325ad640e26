#include "cinnabar/hardware/nvml_sensors.h"

#include <array>
#include <cstdio>

#include "cinnabar/hardware/nvml_layout.h"

namespace cinnabar::hardware {

namespace {

constexpr unsigned kCoreSensor = 0;
constexpr unsigned kGraphicsClock = 0;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kMost = 256;

// Reasons for lower clocks (nvml.h: nvmlClocksThrottleReason...).
constexpr unsigned long long kByPower = 0x4 | 0x80;
constexpr unsigned long long kByHeat = 0x20 | 0x40;
constexpr unsigned long long kByHardware = 0x8;

std::string throttle_words(unsigned long long reasons) {
  std::string text;
  const auto add = [&](unsigned long long mask, const char* word) {
    if ((reasons & mask) != 0) text += (text.empty() ? "" : ",") + std::string(word);
  };
  add(kByHeat, "heat");
  add(kByPower, "power");
  // The general bit says nothing beside a particular one.
  if (text.empty()) add(kByHardware, "hardware");
  return text;
}

template <class... Parameters>
std::optional<double> queried(const SharedLibrary& nvml, const char* name, double divisor, Parameters... parameters) {
  unsigned value = 0;
  if (!nvml.call(name, parameters..., &value)) return std::nullopt;
  return value / divisor;
}

DeviceReading read_device(const SharedLibrary& nvml, void* device) {
  DeviceReading reading;
  std::array<char, 96> name{};
  if (nvml.call("nvmlDeviceGetName", device, name.data(), static_cast<unsigned>(name.size() - 1)))
    reading.name = name.data();
  NvmlPci pci;
  if (nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci)) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
    reading.bdf = text.data();
  }
  NvmlMemory memory;
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory)) {
    reading.memory_bytes = static_cast<int64_t>(memory.total);
    reading.memory_used_bytes = static_cast<int64_t>(memory.used);
  }
  NvmlUse use;
  if (nvml.call("nvmlDeviceGetUtilizationRates", device, &use)) reading.utilisation_percent = use.gpu;
  reading.temperature_c = queried(nvml, "nvmlDeviceGetTemperature", 1.0, device, kCoreSensor);
  reading.power_w = queried(nvml, "nvmlDeviceGetPowerUsage", 1000.0, device);
  reading.power_limit_w = queried(nvml, "nvmlDeviceGetEnforcedPowerLimit", 1000.0, device);
  reading.clock_mhz = queried(nvml, "nvmlDeviceGetClockInfo", 1.0, device, kGraphicsClock);
  reading.memory_clock_mhz = queried(nvml, "nvmlDeviceGetClockInfo", 1.0, device, kMemoryClock);
  unsigned long long reasons = 0;
  if (nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons))
    reading.throttled_by = throttle_words(reasons);
  return reading;
}

}  // namespace

NvmlSensors::NvmlSensors(const std::string& library)
    : library_(library.empty() ? std::vector<std::string>{"libnvidia-ml.so.1", "libnvidia-ml.so"}
                               : std::vector<std::string>{library}),
      is_open_(library_.is_open() && library_.call("nvmlInit_v2")) {}

NvmlSensors::~NvmlSensors() {
  if (is_open_) library_.call("nvmlShutdown");
}

std::vector<DeviceReading> NvmlSensors::read() const {
  std::vector<DeviceReading> readings;
  unsigned count = 0;
  if (!is_open_ || !library_.call("nvmlDeviceGetCount_v2", &count)) return readings;
  for (unsigned i = 0; i < count && i < kMost; ++i) {
    void* device = nullptr;
    if (library_.call("nvmlDeviceGetHandleByIndex_v2", i, &device)) readings.push_back(read_device(library_, device));
  }
  return readings;
}

}  // namespace cinnabar::hardware
