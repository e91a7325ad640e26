#include "cinnabar/loss/huber_threshold.h"

namespace cinnabar::loss {

using schema::Level;
using schema::Type;

std::vector<schema::Option> huber_options() {
  return {
      {.name = "huber_c",
       .type = Type::Float,
       .fallback = 0.1,
       .range = schema::Range{1e-6, 10.0},
       .typical = schema::Range{0.05, 0.5},
       .group = "Loss",
       .level = Level::Advanced,
       .shown_if = "loss_type in huber, smooth_l1",
       .label = "Huber threshold",
       .help = "Differences below about this size are squared, larger ones count linearly."},
      {.name = "huber_schedule",
       .type = Type::Text,
       .fallback = std::string("snr"),
       .choices = {"constant", "exponential", "snr"},
       .group = "Loss",
       .level = Level::Advanced,
       .shown_if = "loss_type in huber, smooth_l1",
       .label = "Huber schedule",
       .help = "How the threshold depends on the timestep. snr needs a model trained with a noise table, so not a flow "
               "model."},
      {.name = "huber_scale",
       .type = Type::Float,
       .fallback = 1.0,
       .range = schema::Range{1e-6, 1000.0},
       .group = "Loss",
       .level = Level::Expert,
       .shown_if = "loss_type in huber, smooth_l1",
       .label = "Huber scale",
       .help = "Factor on the threshold of the constant and exponential schedules."}};
}

HuberOptions huber_options_from(const schema::Values& values) {
  HuberOptions options;
  options.c = values.maybe_number("huber_c").value_or(options.c);
  options.scale = values.maybe_number("huber_scale").value_or(options.scale);
  options.schedule = values.maybe_text("huber_schedule").value_or(options.schedule);
  return options;
}

}  // namespace cinnabar::loss

#ifdef CINNABAR_ENGINE

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
