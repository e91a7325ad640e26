// What the sensors of a machine say now: GPUs, processor, memory. Read again and again during a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

// One GPU. Unknown values are empty, never 0.
struct DeviceReading {
  std::string name{};
  std::string bdf{};  // PCI address
  std::optional<double> utilisation_percent{};
  std::optional<double> temperature_c{};  // edge, else hotspot
  std::optional<double> hotspot_c{};      // the hottest place of the chip ("junction")
  std::optional<double> memory_temperature_c{};
  std::optional<double> power_w{};
  std::optional<double> power_limit_w{};
  std::optional<double> clock_mhz{};  // of the compute units
  std::optional<double> memory_clock_mhz{};
  std::optional<int64_t> memory_used_bytes{};
  std::optional<int64_t> memory_bytes{};
  // What slows the chip down now: "heat", "power", "current", joined by commas; "" for nothing; empty: unknown.
  std::optional<std::string> throttled_by{};
};

struct HostReading {
  std::optional<double> cpu_percent{};  // of all processors, since the last reading; empty in the first
  std::optional<double> cpu_temperature_c{};
  std::optional<int64_t> memory_used_bytes{};  // by all programs
  std::optional<int64_t> memory_bytes{};
  std::optional<int64_t> process_bytes{};  // resident memory of this process
};

struct Reading {
  std::vector<DeviceReading> devices{};
  HostReading host{};
};

struct SensorOptions {
  std::string only_bdf{};      // "": all GPUs
  bool with_nvml = true;       // NVIDIA's management library, where it is installed
  std::string nvml_library{};  // "": the usual names
};

// AMD cards are read from the kernel's files, where the vendor's libraries read them, too; NVIDIA's through NVML.
class Sensors {
 public:
  explicit Sensors(FileTree files = FileTree(), SensorOptions options = {});
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  // Never throws for what cannot be read. A fraction of a millisecond. For one thread at a time.
  Reading read();

 private:
  struct CpuTimes {
    int64_t busy = 0;
    int64_t all = 0;
  };
  std::optional<double> cpu_percent();
  HostReading read_host();

  FileTree files_;
  SensorOptions options_;
  std::optional<CpuTimes> last_cpu_{};
  class Nvml;
  std::unique_ptr<Nvml> nvml_;  // null: not there
};

// Why an AMD chip is slowed down, from the binary file gpu_metrics (Linux, kgd_pp_interface.h: versions 1.3 and 2.2 to
// 2.4 carry bits that mean the same on every chip). Empty for other versions.
std::optional<std::string> throttle_text(const std::string& gpu_metrics);

}  // namespace cinnabar::hardware
