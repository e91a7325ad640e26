#include "cinnabar/train/run_telemetry.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>

#include "cinnabar/hardware/access.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/system_sources.h"
#include "cinnabar/tensor/loaded_libtorch.h"

namespace cinnabar::train {

namespace {

using Fields = std::map<std::string, base::EventValue>;
using Records = std::vector<std::pair<std::string, double>>;

constexpr double kSilence_s = 300.0;  // of a sensor during a pause
constexpr double kSlice_s = 0.2;      // within which a pause notices that the run is to stop
constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

void put(Fields& fields, const std::string& name, const std::optional<double>& value) {
  if (value) fields[name] = *value;
}

void put(Fields& fields, const std::string& name, const std::optional<int64_t>& value) {
  if (value) fields[name] = *value;
}

void put(Records& records, const std::string& name, const std::optional<double>& value) {
  if (value) records.emplace_back(name, *value);
}

void put(Records& records, const std::string& name, const std::optional<int64_t>& bytes) {
  if (bytes) records.emplace_back(name, static_cast<double>(*bytes) / kGib);
}

// The fields of a result are free, and one of that name is the event's type.
void tell(base::EventSink& events, const char* type, Fields fields) {
  fields["type"] = std::string(type);
  events.result(fields);
}

Fields fields_of(const hardware::HostReading& host) {
  Fields fields;
  put(fields, "cpu_percent", host.cpu_percent);
  put(fields, "cpu_temperature_c", host.cpu_temperature_c);
  put(fields, "memory_used_bytes", host.memory_used_bytes);
  put(fields, "memory_bytes", host.memory_bytes);
  put(fields, "process_bytes", host.process_bytes);
  return fields;
}

void put(Fields& fields, const hardware::DeviceReading& device) {
  fields["device"] = device.name.empty() ? std::string("GPU") : device.name;
  put(fields, "device_utilisation_percent", device.utilisation_percent);
  put(fields, "device_temperature_c", device.temperature_c);
  put(fields, "device_hotspot_c", device.hotspot_c);
  put(fields, "device_memory_temperature_c", device.memory_temperature_c);
  put(fields, "device_power_w", device.power_w);
  put(fields, "device_power_limit_w", device.power_limit_w);
  put(fields, "device_clock_mhz", device.clock_mhz);
  put(fields, "device_memory_clock_mhz", device.memory_clock_mhz);
  put(fields, "device_memory_used_bytes", device.memory_used_bytes);
  put(fields, "device_memory_bytes", device.memory_bytes);
  if (device.throttled_by) fields["device_throttled_by"] = *device.throttled_by;
}

std::string degrees(double value) { return std::to_string(std::lround(value)) + " C"; }

// The PCI address of the GPU that trains; "" when it cannot be told, so that all are read.
std::string address_of(at::Device device) {
  const hardware::Sources sources = hardware::system_sources(tensor::loaded_libtorch(), false);
  const hardware::Machine machine = hardware::detect(sources);
  const hardware::Gpu* gpu = hardware::gpu_of_device(machine, sources, device.index());
  return gpu == nullptr ? std::string() : gpu->bdf.value_or("");
}

}  // namespace

std::optional<double> temperature_of(const hardware::Reading& reading, bool is_cpu) {
  if (is_cpu) return reading.host.cpu_temperature_c;
  std::optional<double> hottest;
  for (const hardware::DeviceReading& device : reading.devices) {
    if (device.temperature_c) hottest = std::max(hottest.value_or(*device.temperature_c), *device.temperature_c);
  }
  return hottest;
}

void tell_reading(base::EventSink& events, const hardware::Reading& reading) {
  Fields fields = fields_of(reading.host);
  if (reading.devices.empty()) return tell(events, "telemetry", fields);
  for (size_t i = 0; i < reading.devices.size(); ++i) {
    fields["index"] = static_cast<int64_t>(i);
    put(fields, reading.devices[i]);
    tell(events, "telemetry", fields);
    fields.clear();
  }
}

Records records_of(const hardware::Reading& reading) {
  Records records;
  for (size_t i = 0; i < reading.devices.size(); ++i) {
    const hardware::DeviceReading& device = reading.devices[i];
    const std::string group = i == 0 ? "device/" : "device" + std::to_string(i) + "/";
    put(records, group + "utilisation_percent", device.utilisation_percent);
    put(records, group + "temperature_c", device.temperature_c);
    put(records, group + "hotspot_c", device.hotspot_c);
    put(records, group + "power_w", device.power_w);
    put(records, group + "clock_mhz", device.clock_mhz);
    put(records, group + "memory_used_gib", device.memory_used_bytes);
    if (device.throttled_by) records.emplace_back(group + "is_throttled", device.throttled_by->empty() ? 0.0 : 1.0);
  }
  put(records, "host/cpu_percent", reading.host.cpu_percent);
  put(records, "host/cpu_temperature_c", reading.host.cpu_temperature_c);
  put(records, "host/memory_used_gib", reading.host.memory_used_bytes);
  put(records, "host/process_gib", reading.host.process_bytes);
  return records;
}

double cool_down(hardware::HeatGuard& guard, const Cooling& cooling, base::EventSink& events,
                 const base::Progress& where) {
  std::optional<double> now = cooling.temperature();
  if (!guard.is_too_hot(now)) return 0.0;
  base::Progress state = where;
  state.phase = "cooling";
  const std::string limits = "above the limit of " + degrees(guard.limit_c()) + " (max_temperature)";
  events.warning("The device is at " + (now ? degrees(*now) : std::string("an unknown temperature")) + ", " + limits +
                 ": the training pauses until it is at " + degrees(guard.resume_c()));
  Fields begin = {{"state", std::string("begin")},
                  {"reason", std::string("temperature")},
                  {"limit_c", guard.limit_c()},
                  {"resume_c", guard.resume_c()}};
  put(begin, "temperature_c", now);
  tell(events, "pause", begin);
  double waited_s = 0.0;
  double silent_s = 0.0;
  do {
    events.progress(state);
    if (!cooling.wait()) break;
    waited_s += cooling.wait_s;
    now = cooling.temperature();
    silent_s = now ? 0.0 : silent_s + cooling.wait_s;
    if (silent_s >= kSilence_s) {
      events.warning("The device's temperature cannot be read any more: the training goes on without max_temperature");
      guard = hardware::HeatGuard({});
    }
  } while (guard.is_too_hot(now));
  Fields end = {{"state", std::string("end")}, {"reason", std::string("temperature")}, {"seconds", waited_s}};
  put(end, "temperature_c", now);
  tell(events, "pause", end);
  if (now && !guard.is_too_hot(now))
    events.log("The device is at " + degrees(*now) + " after " + std::to_string(std::lround(waited_s)) +
               " s: the training goes on.");
  return waited_s;
}

RunTelemetry::RunTelemetry(const TelemetryOptions& options, Read read, base::EventSink& events)
    : options_(options), read_(std::move(read)), events_(events), guard_(options.heat) {
  last_ = read_now();
  if (guard_.is_on() && !temperature_of(*last_, options_.is_cpu)) {
    events_.warning("max_temperature has no effect: no sensor tells the temperature of the " +
                    std::string(options_.is_cpu ? "processor" : "GPU"));
    guard_ = hardware::HeatGuard({});
  }
  thread_ = std::thread([this] { sample_until_end(); });
}

RunTelemetry::~RunTelemetry() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  change_.notify_all();
  thread_.join();
}

std::unique_ptr<RunTelemetry> RunTelemetry::from(const schema::Values& values, at::Device device,
                                                 base::EventSink& events) {
  TelemetryOptions options{.interval_s = values.maybe_number("telemetry_interval").value_or(5.0),
                           .heat = {.limit_c = values.maybe_number("max_temperature").value_or(0.0)},
                           .is_cpu = device.is_cpu()};
  if (options.interval_s <= 0.0 && options.heat.limit_c <= 0.0) return nullptr;
  if (options.interval_s <= 0.0) options.interval_s = TelemetryOptions().interval_s;
  // While the processor trains, what other programs do on a GPU is of no interest, and its libraries are left alone.
  hardware::SensorOptions which{.with_nvml = !device.is_cpu()};
  if (!device.is_cpu()) which.only_bdf = address_of(device);
  auto sensors = std::make_shared<hardware::Sensors>(hardware::FileTree(), which);
  return std::make_unique<RunTelemetry>(
      options,
      [sensors, is_cpu = device.is_cpu()] {
        hardware::Reading reading = sensors->read();
        if (is_cpu) reading.devices.clear();
        return reading;
      },
      events);
}

hardware::Reading RunTelemetry::read_now() {
  const std::lock_guard lock(reading_);
  return read_();
}

void RunTelemetry::sample_until_end() {
  const auto interval = std::chrono::duration<double>(options_.interval_s);
  std::unique_lock lock(mutex_);
  while (!change_.wait_for(lock, interval, [&] { return is_ending_; })) {
    lock.unlock();
    const hardware::Reading reading = read_now();
    tell_reading(events_, reading);
    lock.lock();
    last_ = reading;
    is_new_ = true;
  }
}

void RunTelemetry::add_records(Records& records) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_new_, false)) return;
  std::ranges::move(records_of(*last_), std::back_inserter(records));
}

void RunTelemetry::pause_while_hot(const base::Progress& where, const std::atomic<bool>& stop) {
  if (!guard_.is_on()) return;
  const auto last_temperature = [&] {
    const std::lock_guard lock(mutex_);
    return temperature_of(*last_, options_.is_cpu);
  };
  if (!guard_.is_too_hot(last_temperature())) return;
  const double wait_s = std::min(options_.interval_s, 5.0);
  cool_down(guard_,
            {.temperature = [&] { return temperature_of(read_now(), options_.is_cpu); },
             .wait =
                 [&] {
                   for (double left_s = wait_s; left_s > 0.0 && !stop; left_s -= kSlice_s)
                     std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left_s, kSlice_s)));
                   return !stop.load();
                 },
             .wait_s = wait_s},
            events_, where);
}

}  // namespace cinnabar::train
