#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

base::Registry<Entry>& entries() {
  static base::Registry<Entry> registry("sampler");
  return registry;
}

bool add_entry(const std::string& name, const Entry& entry, const std::vector<std::string>& aliases) {
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

}  // namespace cinnabar::samplers
