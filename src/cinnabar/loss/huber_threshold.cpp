#ifdef CINNABAR_ENGINE

#include "cinnabar/loss/huber_threshold.h"

#include <ATen/ATen.h>

#include <cmath>

namespace cinnabar::loss {

at::Tensor huber_threshold(const HuberOptions& options, const at::Tensor& timesteps, const at::Tensor& alphas_cumprod,
                           int64_t table_steps) {
  const at::Tensor t = timesteps.to(at::kFloat);  // [B]
  if (options.schedule == "constant") return at::full_like(t, options.c * options.scale);
  // Falls from 1 at t = 0 to c at the end of the table.
  if (options.schedule == "exponential")
    return at::exp(t * (std::log(options.c) / static_cast<double>(table_steps))) * options.scale;
  if (options.schedule != "snr") {
    throw base::Error(base::ErrorCode::Config,
                      "huber_schedule = \"" + options.schedule + "\": expected constant, exponential or snr");
  }
  if (!alphas_cumprod.defined()) {
    throw base::Error(
        base::ErrorCode::Config,
        "huber_schedule = \"snr\" needs a model with a noise table, and this is a flow model: use constant or "
        "exponential");
  }
  // sigma: noise over signal. The scale is not used here, as in the reference.
  const at::Tensor sigma = ((1.0 - alphas_cumprod) / alphas_cumprod).sqrt();
  return (1.0 - options.c) / (1.0 + sigma).square() + options.c;
}

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
