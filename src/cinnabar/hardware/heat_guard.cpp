#include "cinnabar/hardware/heat_guard.h"

namespace cinnabar::hardware {

bool HeatGuard::is_too_hot(std::optional<double> temperature_c) {
  if (!is_on()) return false;
  if (temperature_c) is_hot_ = *temperature_c > (is_hot_ ? resume_c() : limit_.limit_c);
  return is_hot_;
}

}  // namespace cinnabar::hardware
