#include "cinnabar/hardware/sensors.h"

#include <unistd.h>

#include <utility>

#include "cinnabar/hardware/chips.h"
#include "cinnabar/hardware/drm.h"
#include "cinnabar/hardware/nvml_sensors.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

DeviceReading read_card(const FileTree& files, const DrmCard& card) {
  DeviceReading reading{.bdf = card.bdf,
                        .utilisation_percent = card.utilisation_percent,
                        .temperature_c = card.temperature_c,
                        .power_w = card.power_w,
                        .memory_used_bytes = card.vram_used_bytes,
                        .memory_bytes = card.vram_bytes};
  if (card.device_id) reading.name = card_name(*card.device_id, card.revision, card.vram_bytes).value_or("AMD GPU");
  for (const std::string& name : files.names(card.folder + "/hwmon")) {
    const std::string folder = card.folder + "/hwmon/" + name;
    if (files.text(folder + "/name").value_or("amdgpu") != "amdgpu") continue;
    reading.hotspot_c = labelled_temperature(files, folder, "junction");
    reading.memory_temperature_c = labelled_temperature(files, folder, "mem");
    reading.power_limit_w = scaled_number(files, folder + "/power1_cap", 1e6);
    reading.clock_mhz = scaled_number(files, folder + "/freq1_input", 1e6);
    reading.memory_clock_mhz = scaled_number(files, folder + "/freq2_input", 1e6);
  }
  if (const auto metrics = files.bytes(card.folder + "/gpu_metrics")) reading.throttled_by = throttle_text(*metrics);
  return reading;
}

// The processor's own sensor, under the names of the drivers of AMD, Intel and ARM.
std::optional<double> cpu_temperature(const FileTree& files) {
  for (const std::string& name : files.names("/sys/class/hwmon")) {
    const std::string folder = "/sys/class/hwmon/" + name;
    const std::string driver = files.text(folder + "/name").value_or("");
    if (driver == "k10temp" || driver == "zenpower" || driver == "coretemp" || driver == "cpu_thermal")
      return scaled_number(files, folder + "/temp1_input", 1000.0);
  }
  return std::nullopt;
}

uint64_t little_endian(const std::string& bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

class Sensors::Nvml {
 public:
  explicit Nvml(const std::string& library) : sensors(library) {}
  NvmlSensors sensors;
};

Sensors::Sensors(FileTree files, SensorOptions options) : files_(std::move(files)), options_(std::move(options)) {
  if (!options_.with_nvml) return;
  auto nvml = std::make_unique<Nvml>(options_.nvml_library);
  if (nvml->sensors.is_open()) nvml_ = std::move(nvml);
}

Sensors::~Sensors() = default;

Reading Sensors::read() {
  Reading reading;
  if (nvml_) reading.devices = nvml_->sensors.read();
  for (const DrmCard& card : read_drm(files_)) {
    if (card.vendor == kVendorAmd && card.driver == "amdgpu") reading.devices.push_back(read_card(files_, card));
  }
  if (!options_.only_bdf.empty()) {
    std::erase_if(reading.devices, [&](const DeviceReading& device) { return device.bdf != options_.only_bdf; });
  }
  reading.host = read_host();
  return reading;
}

// Of /proc/stat: time in user, nice, system, idle, iowait, irq, softirq, steal.
std::optional<double> Sensors::cpu_percent() {
  const std::vector<std::string> lines = lines_of(files_.text("/proc/stat").value_or(""));
  if (lines.empty() || !lines[0].starts_with("cpu ")) return std::nullopt;
  std::vector<std::string> words = parts_of(lines[0], ' ');
  std::erase(words, "");
  CpuTimes now;
  for (size_t i = 1; i < words.size() && i <= 8; ++i) {
    const int64_t time = integer_of(words[i]).value_or(0);
    now.all += time;
    if (i != 4 && i != 5) now.busy += time;
  }
  const std::optional<CpuTimes> before = std::exchange(last_cpu_, now);
  if (!before || now.all <= before->all) return std::nullopt;
  return 100.0 * static_cast<double>(now.busy - before->busy) / static_cast<double>(now.all - before->all);
}

HostReading Sensors::read_host() {
  HostReading host{.cpu_percent = cpu_percent(), .cpu_temperature_c = cpu_temperature(files_)};
  const std::string memory = files_.text("/proc/meminfo").value_or("");
  host.memory_bytes = labelled_bytes(memory, "MemTotal");
  const auto available = labelled_bytes(memory, "MemAvailable");
  if (host.memory_bytes && available) host.memory_used_bytes = *host.memory_bytes - *available;
  const std::vector<std::string> pages = parts_of(files_.text("/proc/self/statm").value_or(""), ' ');
  if (pages.size() > 1) {
    if (const auto resident = integer_of(pages[1])) host.process_bytes = *resident * ::sysconf(_SC_PAGESIZE);
  }
  return host;
}

std::optional<std::string> throttle_text(const std::string& gpu_metrics) {
  // Header: size of the structure, then format and content revision. Places of the 64 bits in each known layout.
  constexpr size_t kPlaceOf13 = 112;
  constexpr size_t kPlaceOf22 = 120;
  if (gpu_metrics.size() < 4) return std::nullopt;
  const auto format = static_cast<unsigned char>(gpu_metrics[2]);
  const auto content = static_cast<unsigned char>(gpu_metrics[3]);
  const bool is_13 = format == 1 && content == 3;
  const bool is_22 = format == 2 && content >= 2 && content <= 4;
  if (!is_13 && !is_22) return std::nullopt;
  const size_t place = is_13 ? kPlaceOf13 : kPlaceOf22;
  if (gpu_metrics.size() < place + 8) return std::nullopt;
  const uint64_t bits = little_endian(gpu_metrics, place, 8);
  // All ones stand for "not supported".
  if (bits == ~uint64_t{0}) return std::nullopt;
  std::string text;
  const auto add = [&](uint64_t mask, const char* word) {
    if ((bits & mask) != 0) text += (text.empty() ? "" : ",") + std::string(word);
  };
  add(uint64_t{0xffff} << 32, "heat");
  add(uint64_t{0xff}, "power");
  add(uint64_t{0xff} << 16, "current");
  return text;
}

}  // namespace cinnabar::hardware
