// Descriptions of the noise settings (no torch): each entry brings its own option rows.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/option.h"

namespace cinnabar::noise {

struct Entry {
  std::string help;
  std::vector<schema::Option> options{};
  int order = 0;  // modifiers act in ascending order
};

base::Registry<Entry>& entries();

}  // namespace cinnabar::noise

#define CINNABAR_REGISTER_NOISE(identifier, ...) \
  static const bool registered_noise_##identifier = ::cinnabar::noise::entries().add(#identifier, __VA_ARGS__)
