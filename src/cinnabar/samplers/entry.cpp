#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

base::Registry<Entry>& entries() {
  static base::Registry<Entry> registry("sampler");
  return registry;
}

namespace {

schema::Option noise_table_option() {
  return {.name = "sample_noise_table",
          .type = schema::Type::Text,
          .fallback = "auto",
          .choices = {"auto", "plain", "zero_terminal"},
          .group = "Sampling",
          .level = schema::Level::Expert,
          .label = "Noise table",
          .help =
              "The noise levels of pictures. auto: zero_terminal for v-prediction models whose file says that they "
              "were trained so, else plain. zero_terminal_snr of the training has no influence, as in sd-scripts."};
}

}  // namespace

bool add_entry(const std::string& name, Entry entry, const std::vector<std::string>& aliases) {
  entry.options.push_back(noise_table_option());
  entries().add(name, entry);
  for (const std::string& alias : aliases) {
    entries().add(
        alias,
        {.help = "Another name of " + name + ".", .label = entry.label, .options = entry.options, .alias_of = name});
  }
  return true;
}

schema::Option karras_option() {
  return {.name = "karras_sigmas",
          .type = schema::Type::Flag,
          .fallback = false,
          .group = "Sampling",
          .level = schema::Level::Advanced,
          .label = "Karras noise levels",
          .help =
              "Spends more of the steps at low noise (Karras et al. 2022). Other programs call these samplers "
              "\"Karras\"."};
}

schema::Option spacing_option() {
  return {
      .name = "timestep_spacing",
      .type = schema::Type::Text,
      .choices = {"leading", "linspace", "trailing"},
      .group = "Sampling",
      .level = schema::Level::Expert,
      .label = "Timestep spacing",
      .help = "Which timesteps the steps stand for. Unset: the sampler's own; trailing starts at the noisiest one."};
}

schema::Option clip_option() {
  return {.name = "clip_sample",
          .type = schema::Type::Flag,
          .fallback = false,
          .group = "Sampling",
          .level = schema::Level::Expert,
          .label = "Clip the clean latents",
          .help =
              "Clips the predicted clean latents to -1..1 in ddim, ddpm and heun, as sd-scripts does. It costs "
              "contrast; use it only to compare with sd-scripts."};
}

schema::Option solver_order_option() {
  return {.name = "solver_order",
          .type = schema::Type::Int,
          .range = {{1, 3}},
          .group = "Sampling",
          .level = schema::Level::Expert,
          .label = "Order of the solver",
          .help =
              "How many predictions a step of a multistep solver builds on. Unset: 2. 3 makes dpmsolver++ what "
              "other programs call DPM++ 3M."};
}

}  // namespace cinnabar::samplers
