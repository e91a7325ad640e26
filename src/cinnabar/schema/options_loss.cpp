#include "cinnabar/schema/option_groups.h"

namespace cinnabar::schema {

// Losses, weights and noise settings bring their own rows (src/cinnabar/loss, src/cinnabar/noise).
std::vector<Option> loss_options() {
  return {
      {.name = "loss_type",
       .type = Type::Text,
       .fallback = "l2",
       .group = "Loss",
       .level = Level::Advanced,
       .label = "Loss",
       .help = "How the difference between prediction and target counts."},
      {.name = "prior_loss_weight",
       .type = Type::Float,
       .fallback = 1.0,
       .range = {{0, 1000}},
       .typical = {{0.5, 1}},
       .group = "Loss",
       .level = Level::Advanced,
       .shown_if = "reg_data_dir or dataset_config",
       .label = "Prior loss weight",
       .help = "The weight of regularisation pictures in the loss."},
      {.name = "zero_terminal_snr",
       .type = Type::Flag,
       .fallback = false,
       .group = "Noise",
       .level = Level::Expert,
       .label = "Zero terminal SNR",
       .help = "Changes the noise schedule so that its last step is pure noise. For models that predict the velocity."},
  };
}

}  // namespace cinnabar::schema
