// The threshold between "small" and "large" differences of the Huber losses, and how it depends on the timestep.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "cinnabar/loss/huber_options.h"

namespace cinnabar::loss {

// timesteps [B] in 0..table_steps; alphas_cumprod: fp32 [B] of these timesteps, undefined for flow models, for which
// the "snr" schedule is Error{Config}. Returns fp32 [B].
at::Tensor huber_threshold(const HuberOptions& options, const at::Tensor& timesteps, const at::Tensor& alphas_cumprod,
                           int64_t table_steps = 1000);

}  // namespace cinnabar::loss
