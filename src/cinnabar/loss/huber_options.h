// Settings of the Huber losses (no torch).
#pragma once

#include <string>
#include <vector>

#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::loss {

// The rows huber_c, huber_scale and huber_schedule.
std::vector<schema::Option> huber_options();

struct HuberOptions {
  double c = 0.1;
  double scale = 1.0;
  std::string schedule = "snr";  // "constant", "exponential" or "snr"
};
HuberOptions huber_options_from(const schema::Values& values);

}  // namespace cinnabar::loss
