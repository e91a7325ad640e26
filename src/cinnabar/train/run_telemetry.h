// What the machine does while a run trains: sensors every few seconds into its events and records, and a pause when the
// device gets too hot.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include "cinnabar/base/events.h"
#include "cinnabar/hardware/heat_guard.h"
#include "cinnabar/hardware/sensors.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// The temperature that counts: of the hottest GPU, or of the processor when it trains.
std::optional<double> temperature_of(const hardware::Reading& reading, bool is_cpu);

// One event of type "telemetry" a GPU, the first with the host's numbers; without GPUs one of the host alone.
void tell_reading(base::EventSink& events, const hardware::Reading& reading);

// The same as TensorBoard records: "device/temperature_c", "device1/power_w", "host/cpu_percent".
std::vector<std::pair<std::string, double>> records_of(const hardware::Reading& reading);

// What a pause waits with; tests give a clock of their own.
struct Cooling {
  std::function<std::optional<double>()> temperature;  // now
  std::function<bool()> wait;                          // until it is worth looking again; false: the run is to stop
  double wait_s = 5.0;                                 // that one wait takes
};

// Returns when the guard says that it is cool enough, when the run is to stop, or when the sensor has said nothing for
// five minutes (a warning). Events tell the beginning, the state and the end. Returns the seconds that it took.
double cool_down(hardware::HeatGuard& guard, const Cooling& cooling, base::EventSink& events,
                 const base::Progress& where);

struct TelemetryOptions {
  double interval_s = 5.0;
  hardware::HeatLimit heat{};
  bool is_cpu = true;  // what trains
};

class RunTelemetry {
 public:
  using Read = std::function<hardware::Reading()>;

  // Reads every `interval_s` seconds in a thread of its own. The sink must outlive it.
  RunTelemetry(const TelemetryOptions& options, Read read, base::EventSink& events);
  ~RunTelemetry();
  RunTelemetry(const RunTelemetry&) = delete;
  RunTelemetry& operator=(const RunTelemetry&) = delete;

  // By telemetry_interval and max_temperature, with the sensors of this machine; null when nothing is to be read.
  static std::unique_ptr<RunTelemetry> from(const schema::Values& values, at::Device device, base::EventSink& events);

  // Adds the records of the last reading, once for each reading.
  void add_records(std::vector<std::pair<std::string, double>>& records);
  // Between two steps: waits while the device is too hot.
  void pause_while_hot(const base::Progress& where, const std::atomic<bool>& stop);

 private:
  void sample_until_end();
  hardware::Reading read_now();

  TelemetryOptions options_;
  Read read_;
  base::EventSink& events_;
  hardware::HeatGuard guard_;  // of the training thread
  std::mutex reading_;         // sensors are read by one thread at a time
  std::mutex mutex_;           // of what follows
  std::condition_variable change_;
  bool is_ending_ = false;
  bool is_new_ = false;
  std::optional<hardware::Reading> last_;
  std::thread thread_;
};

}  // namespace cinnabar::train
