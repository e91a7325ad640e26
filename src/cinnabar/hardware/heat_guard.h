// When a device is too hot to go on, and when it is cool enough again.
#pragma once

#include <optional>

namespace cinnabar::hardware {

struct HeatLimit {
  double limit_c = 0.0;        // above this it is too hot; 0: no limit
  double hysteresis_c = 10.0;  // once too hot, it must fall to limit - hysteresis
};

class HeatGuard {
 public:
  explicit HeatGuard(HeatLimit limit) : limit_(limit) {}

  bool is_on() const { return limit_.limit_c > 0.0; }
  double limit_c() const { return limit_.limit_c; }
  double resume_c() const { return limit_.limit_c - limit_.hysteresis_c; }

  // Takes a reading. True while it is too hot. An unknown temperature changes nothing: a sensor that sleeps for a
  // moment neither starts nor ends a pause.
  bool is_too_hot(std::optional<double> temperature_c);

 private:
  HeatLimit limit_;
  bool is_hot_ = false;
};

}  // namespace cinnabar::hardware
