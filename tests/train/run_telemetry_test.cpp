// The options max_temperature and telemetry_interval: readings in events and records, and a pause when it is too hot.
#include "cinnabar/train/run_telemetry.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace cinnabar::train {

namespace {

using nlohmann::json;

std::vector<json> events_of(const base::RecordedEvents& events, const std::string& type) {
  std::vector<json> found;
  for (const std::string& line : events.lines()) {
    const json event = json::parse(line);
    if (event["type"] == type) found.push_back(event);
  }
  return found;
}

hardware::Reading reading_at(std::optional<double> temperature) {
  hardware::DeviceReading device{.name = "A card", .utilisation_percent = 99.0, .temperature_c = temperature};
  device.power_w = 210.5;
  device.memory_used_bytes = int64_t{3} << 30;
  device.throttled_by = "heat";
  return {.devices = {device}, .host = {.cpu_percent = 50.0, .memory_used_bytes = int64_t{2} << 30}};
}

// A sensor that gives one temperature after another, and a clock that only counts.
struct Fake {
  std::vector<std::optional<double>> temperatures;
  size_t at = 0;
  double now_s = 0.0;
  double stop_at_s = 1e9;

  Cooling cooling() {
    return {.temperature = [this] { return temperatures[std::min(at, temperatures.size() - 1)]; },
            .wait =
                [this] {
                  now_s += 5.0;
                  ++at;
                  return now_s < stop_at_s;
                },
            .wait_s = 5.0};
  }
};

TEST_CASE("a hot device pauses the training until it is cool again") {
  base::RecordedEvents events;
  hardware::HeatGuard guard({.limit_c = 95.0, .hysteresis_c = 10.0});
  // 90 and 86 are below the limit, and still above the limit less 10.
  Fake fake{.temperatures = {97.0, 96.0, 90.0, 86.0, 85.0, 99.0}};
  const double waited_s = cool_down(guard, fake.cooling(), events, {.step = 12, .total = 100});
  CHECK(waited_s == 20.0);
  CHECK(fake.now_s == 20.0);
  const auto warnings = events_of(events, "warning");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0]["text"].get<std::string>().find("at 97 C, above the limit of 95 C") != std::string::npos);
  CHECK(warnings[0]["text"].get<std::string>().find("until it is at 85 C") != std::string::npos);
  const auto pauses = events_of(events, "pause");
  REQUIRE(pauses.size() == 2);
  CHECK(pauses[0]["state"] == "begin");
  CHECK(pauses[0]["temperature_c"] == 97.0);
  CHECK(pauses[1]["state"] == "end");
  CHECK(pauses[1]["seconds"] == 20.0);
  const auto progress = events_of(events, "progress");
  REQUIRE(progress.size() == 4);
  CHECK(progress[0]["phase"] == "cooling");
  CHECK(progress[0]["step"] == 12);
  CHECK(events_of(events, "log")[0]["text"].get<std::string>().find("at 85 C after 20 s") != std::string::npos);
}

TEST_CASE("a device below the limit is not held up") {
  base::RecordedEvents events;
  hardware::HeatGuard guard({.limit_c = 95.0});
  Fake fake{.temperatures = {95.0}};
  CHECK(cool_down(guard, fake.cooling(), events, {}) == 0.0);
  hardware::HeatGuard off({});
  Fake hot{.temperatures = {200.0}};
  CHECK(cool_down(off, hot.cooling(), events, {}) == 0.0);
  CHECK(events.lines().empty());
}

TEST_CASE("a run that is to stop does not wait for the device to cool") {
  base::RecordedEvents events;
  hardware::HeatGuard guard({.limit_c = 90.0});
  Fake fake{.temperatures = {95.0}, .stop_at_s = 12.0};
  cool_down(guard, fake.cooling(), events, {});
  CHECK(fake.now_s == 15.0);
  CHECK(events_of(events, "log").empty());
}

TEST_CASE("a sensor that falls silent ends the pause in the end") {
  base::RecordedEvents events;
  hardware::HeatGuard guard({.limit_c = 90.0});
  Fake fake{.temperatures = {95.0, std::nullopt}};
  const double waited_s = cool_down(guard, fake.cooling(), events, {});
  CHECK(waited_s == 300.0);
  CHECK_FALSE(guard.is_on());
  CHECK(events_of(events, "warning").size() == 2);
}

TEST_CASE("a silent moment neither starts nor ends a pause") {
  hardware::HeatGuard guard({.limit_c = 90.0, .hysteresis_c = 10.0});
  CHECK_FALSE(guard.is_too_hot(std::nullopt));
  CHECK(guard.is_too_hot(91.0));
  CHECK(guard.is_too_hot(std::nullopt));
  CHECK_FALSE(guard.is_too_hot(80.0));
  CHECK_FALSE(guard.is_too_hot(90.0));
}

TEST_CASE("readings become events and records") {
  base::RecordedEvents events;
  hardware::Reading reading = reading_at(71.0);
  reading.devices.push_back({.name = "Another", .temperature_c = 40.0});
  tell_reading(events, reading);
  const auto told = events_of(events, "telemetry");
  REQUIRE(told.size() == 2);
  CHECK(told[0]["device"] == "A card");
  CHECK(told[0]["device_temperature_c"] == 71.0);
  CHECK(told[0]["device_throttled_by"] == "heat");
  CHECK(told[0]["cpu_percent"] == 50.0);
  CHECK_FALSE(told[0].contains("device_clock_mhz"));  // unknown is absent, not 0
  CHECK(told[1]["index"] == 1);
  CHECK_FALSE(told[1].contains("cpu_percent"));
  const auto records = records_of(reading);
  const auto value = [&](const std::string& name) {
    const auto found = std::ranges::find_if(records, [&](const auto& record) { return record.first == name; });
    return found == records.end() ? -1.0 : found->second;
  };
  CHECK(value("device/temperature_c") == 71.0);
  CHECK(value("device/memory_used_gib") == 3.0);
  CHECK(value("device/is_throttled") == 1.0);
  CHECK(value("device1/temperature_c") == 40.0);
  CHECK(value("host/memory_used_gib") == 2.0);
}

TEST_CASE("without a GPU the host alone is told") {
  base::RecordedEvents events;
  tell_reading(events, {.host = {.cpu_percent = 12.5}});
  const auto told = events_of(events, "telemetry");
  REQUIRE(told.size() == 1);
  CHECK_FALSE(told[0].contains("device"));
  CHECK(temperature_of({.host = {.cpu_temperature_c = 66.0}}, true) == 66.0);
  CHECK_FALSE(temperature_of(reading_at(71.0), true).has_value());
  CHECK(temperature_of(reading_at(71.0), false) == 71.0);
}

TEST_CASE("the sampler reads in its own thread, and each reading is recorded once") {
  base::RecordedEvents events;
  std::atomic<int> count{0};
  std::vector<std::pair<std::string, double>> records;
  {
    RunTelemetry telemetry(
        {.interval_s = 0.001, .is_cpu = false},
        [&] {
          ++count;
          return reading_at(60.0);
        },
        events);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (count < 4 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    telemetry.add_records(records);
  }
  REQUIRE(count >= 4);
  CHECK_FALSE(records.empty());
  CHECK(events_of(events, "telemetry").size() >= 2);
}

TEST_CASE("a limit without a sensor is told and has no effect") {
  base::RecordedEvents events;
  const std::atomic<bool> stop{false};
  RunTelemetry telemetry(
      {.interval_s = 1000.0, .heat = {.limit_c = 80.0}, .is_cpu = false}, [] { return hardware::Reading{}; }, events);
  telemetry.pause_while_hot({}, stop);
  CHECK(events_of(events, "warning")[0]["text"].get<std::string>().find("max_temperature has no effect") == 0);
}

TEST_CASE("the options decide what is read") {
  base::SilentEvents events;
  schema::Values values;
  values.set("telemetry_interval", 0.0);
  CHECK(RunTelemetry::from(values, at::kCPU, events) == nullptr);
  values.set("telemetry_interval", 1000.0);
  CHECK(RunTelemetry::from(values, at::kCPU, events) != nullptr);
  values.set("telemetry_interval", 0.0);
  values.set("max_temperature", 80.0);
  CHECK(RunTelemetry::from(values, at::kCPU, events) != nullptr);
}

}  // namespace

}  // namespace cinnabar::train
