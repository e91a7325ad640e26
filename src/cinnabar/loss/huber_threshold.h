// The threshold between "small" and "large" differences of the Huber losses, and how it depends on the timestep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

#ifdef CINNABAR_ENGINE
#include <ATen/core/Tensor.h>
#endif

namespace cinnabar::loss {

// huber_c, huber_scale and huber_schedule.
std::vector<schema::Option> huber_options();

struct HuberOptions {
  double c = 0.1;
  double scale = 1.0;
  std::string schedule = "snr";  // "constant", "exponential" or "snr"
};
HuberOptions huber_options_from(const schema::Values& values);

#ifdef CINNABAR_ENGINE
// timesteps [B] in 0..table_steps; alphas_cumprod: fp32 [B] of these timesteps, undefined for flow models, for which
// the "snr" schedule is Error{Config}. Returns fp32 [B].
at::Tensor huber_threshold(const HuberOptions& options, const at::Tensor& timesteps, const at::Tensor& alphas_cumprod,
                           int64_t table_steps = 1000);
#endif

}  // namespace cinnabar::loss
