#include "cinnabar/data/interpolation.h"

#include <array>
#include <string>

#include "cinnabar/base/error.h"

namespace cinnabar::data {

Interpolation interpolation_from(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Interpolation>, 8> kNames = {{
      {"lanczos", Interpolation::Lanczos},
      {"nearest", Interpolation::Nearest},
      {"bilinear", Interpolation::Bilinear},
      {"linear", Interpolation::Bilinear},
      {"bicubic", Interpolation::Bicubic},
      {"cubic", Interpolation::Bicubic},
      {"area", Interpolation::Area},
      {"box", Interpolation::Box},
  }};
  std::string known;
  for (const auto& [text, interpolation] : kNames) {
    if (text == name) return interpolation;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw base::Error(base::ErrorCode::Config,
                    "resize_interpolation = \"" + std::string(name) + "\": expected one of " + known);
}

}  // namespace cinnabar::data
