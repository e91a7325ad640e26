#include "cinnabar/loss/huber_options.h"

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
