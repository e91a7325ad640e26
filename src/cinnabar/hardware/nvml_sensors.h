// Sensors of NVIDIA's GPUs through their management library, opened at run time.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/hardware/sensors.h"
#include "cinnabar/hardware/shared_library.h"

namespace cinnabar::hardware {

class NvmlSensors {
 public:
  // "": the usual names. Without the library, or a driver below it, is_open() is false.
  explicit NvmlSensors(const std::string& library);
  ~NvmlSensors();
  NvmlSensors(const NvmlSensors&) = delete;
  NvmlSensors& operator=(const NvmlSensors&) = delete;

  bool is_open() const { return is_open_; }
  std::vector<DeviceReading> read() const;

 private:
  SharedLibrary library_;
  bool is_open_ = false;
};

}  // namespace cinnabar::hardware
