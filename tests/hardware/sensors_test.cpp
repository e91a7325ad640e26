#include "cinnabar/hardware/sensors.h"

#include <doctest/doctest.h>

#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

const std::string kFake = std::string(CINNABAR_BIN_DIR) + "/cinnabar_fake_smi.so";

Sensors sensors_of_fixture(const std::string& name) {
  return Sensors(FileTree(fixture_folder() / name / "root"), {.with_nvml = false});
}

// As the driver writes gpu_metrics: header, then fields; the 64 bits at the place of the layout.
std::string metrics(int format, int content, size_t place, uint64_t bits) {
  std::string bytes(place + 8, '\0');
  bytes[0] = static_cast<char>(bytes.size());
  bytes[2] = static_cast<char>(format);
  bytes[3] = static_cast<char>(content);
  for (size_t i = 0; i < 8; ++i) bytes[place + i] = static_cast<char>(bits >> (8 * i) & 0xff);
  return bytes;
}

TEST_CASE("sensors_of_a_recorded_card_are_read_from_the_kernels_files") {
  Sensors sensors = sensors_of_fixture("rx7600-rocm641");
  const Reading reading = sensors.read();
  REQUIRE(reading.devices.size() == 1);
  const DeviceReading& card = reading.devices[0];
  CHECK(card.name == "AMD Radeon RX 7600");
  CHECK(card.temperature_c == 41.0);
  CHECK(card.hotspot_c == 46.0);
  CHECK(card.memory_temperature_c == 58.0);
  CHECK(card.power_w == 9.0);
  CHECK(card.power_limit_w == 150.0);
  CHECK(card.clock_mhz == 500.0);
  CHECK_FALSE(card.memory_clock_mhz.has_value());  // the file is not there
  CHECK_FALSE(card.throttled_by.has_value());
  CHECK(card.memory_bytes == 8573157376);
  CHECK(card.memory_used_bytes.has_value());
  CHECK(card.utilisation_percent.has_value());
}

TEST_CASE("every_card_of_every_recorded_machine_gives_possible_numbers") {
  for (const std::string& name : fixture_names()) {
    CAPTURE(name);
    Sensors sensors = sensors_of_fixture(name);
    for (const DeviceReading& card : sensors.read().devices) {
      CHECK_FALSE(card.name.empty());
      CHECK_FALSE(card.bdf.empty());
      if (card.temperature_c) CHECK((*card.temperature_c > 10.0 && *card.temperature_c < 120.0));
      if (card.power_w) CHECK((*card.power_w > 0.0 && *card.power_w < 2000.0));
      if (card.utilisation_percent) CHECK((*card.utilisation_percent >= 0.0 && *card.utilisation_percent <= 100.0));
    }
  }
}

TEST_CASE("one_card_among_several_is_read_alone") {
  const FileTree files(fixture_folder() / "mi300x-x8" / "root");
  Sensors all(files, {.with_nvml = false});
  const Reading reading = all.read();
  REQUIRE(reading.devices.size() == 8);
  Sensors one(files, {.only_bdf = reading.devices[5].bdf, .with_nvml = false});
  REQUIRE(one.read().devices.size() == 1);
  CHECK(one.read().devices[0].bdf == reading.devices[5].bdf);
}

TEST_CASE("use_of_the_processor_is_that_since_the_last_reading") {
  Files files = {{"/proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3\n"},
                 {"/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    4096 kB\n"},
                 {"/proc/self/statm", "1000 10 5 1 0 0 0\n"},
                 {"/sys/class/hwmon/hwmon0/name", "nvme\n"},
                 {"/sys/class/hwmon/hwmon0/temp1_input", "30000\n"},
                 {"/sys/class/hwmon/hwmon1/name", "k10temp\n"},
                 {"/sys/class/hwmon/hwmon1/temp1_input", "66500\n"}};
  Sensors sensors(FileTree(files), {.with_nvml = false});
  const HostReading host = sensors.read().host;
  CHECK_FALSE(host.cpu_percent.has_value());
  CHECK(host.cpu_temperature_c == 66.5);
  CHECK(host.memory_bytes == 16384 * 1024);
  CHECK(host.memory_used_bytes == 12288 * 1024);
  CHECK(host.process_bytes.value_or(0) >= 10 * 4096);
  // Files that are made up cannot change: the same times again are no time at all.
  CHECK_FALSE(sensors.read().host.cpu_percent.has_value());
}

TEST_CASE("this_machine_tells_its_memory_and_use") {
  Sensors sensors(FileTree(), {.with_nvml = false});
  sensors.read();
  const HostReading host = sensors.read().host;
  CHECK(host.memory_bytes.value_or(0) > 0);
  CHECK(host.process_bytes.value_or(0) > 0);
  if (host.cpu_percent) CHECK((*host.cpu_percent >= 0.0 && *host.cpu_percent <= 100.0));
}

TEST_CASE("why_a_chip_is_slowed_down_is_read_from_the_layouts_that_say_it") {
  constexpr uint64_t kHotspot = uint64_t{1} << 36;
  constexpr uint64_t kPower = 1;
  constexpr uint64_t kCurrent = uint64_t{1} << 16;
  CHECK(throttle_text(metrics(1, 3, 112, 0)) == "");
  CHECK(throttle_text(metrics(1, 3, 112, kHotspot)) == "heat");
  CHECK(throttle_text(metrics(1, 3, 112, kHotspot | kPower | kCurrent)) == "heat,power,current");
  CHECK(throttle_text(metrics(2, 2, 120, kPower)) == "power");
  CHECK(throttle_text(metrics(2, 4, 120, kHotspot)) == "heat");
  CHECK_FALSE(throttle_text(metrics(1, 4, 112, kHotspot)).has_value());
  CHECK_FALSE(throttle_text(metrics(1, 3, 112, ~uint64_t{0})).has_value());
  CHECK_FALSE(throttle_text(metrics(1, 3, 112, 0).substr(0, 100)).has_value());
  CHECK_FALSE(throttle_text("").has_value());
  Files files = made_files({CardSpec{}});
  files["/sys/class/drm/card1/device/gpu_metrics"] = metrics(1, 3, 112, kHotspot);
  Sensors sensors(FileTree(files), {.with_nvml = false});
  REQUIRE(sensors.read().devices.size() == 1);
  CHECK(sensors.read().devices[0].throttled_by == "heat");
}

TEST_CASE("a_card_of_nvidia_is_read_through_its_library") {
  Sensors sensors(FileTree(Files{}), {.nvml_library = kFake});
  const Reading reading = sensors.read();
  REQUIRE(reading.devices.size() == 1);
  const DeviceReading& card = reading.devices[0];
  CHECK(card.name == "A Fake Card");
  CHECK(card.bdf == "0000:01:00.0");
  CHECK(card.temperature_c == 43.0);
  CHECK(card.utilisation_percent == 7.0);
  CHECK(card.clock_mhz == 1755.0);
  CHECK(card.power_limit_w == 450.0);
  CHECK(card.throttled_by == "heat,power");
  CHECK_FALSE(card.power_w.has_value());           // refused
  CHECK_FALSE(card.memory_clock_mhz.has_value());  // refused
  Sensors none(FileTree(Files{}), {.nvml_library = "surely-no-such-library.so"});
  CHECK(none.read().devices.empty());
}

}  // namespace

}  // namespace cinnabar::hardware
