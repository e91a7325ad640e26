#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/samplers/noise_levels.h"

namespace cinnabar::samplers {

TEST_CASE("timesteps follow their spacing") {
  CHECK((spaced_timesteps(Spacing::Leading, 1000, 4, 0) == std::vector<double>{750, 500, 250, 0}));
  CHECK((spaced_timesteps(Spacing::Leading, 1000, 4, 1) == std::vector<double>{751, 501, 251, 1}));
  CHECK((spaced_timesteps(Spacing::Trailing, 1000, 4, 0) == std::vector<double>{999, 749, 499, 249}));
  CHECK((spaced_timesteps(Spacing::Linspace, 1000, 4, 0) == std::vector<double>{999, 666, 333, 0}));
  CHECK((spacing_from("trailing") == Spacing::Trailing));
  CHECK_THROWS_WITH_AS(spacing_from("even"), doctest::Contains("expected leading"), base::Error);
}

TEST_CASE("noise levels and timesteps are inverse to each other") {
  const std::vector<double> sigmas = table_sigmas({0.9, 0.5, 0.1, 0.0});
  CHECK(sigmas[1] == doctest::Approx(1.0));
  CHECK(sigmas[3] == doctest::Approx(4096.0).epsilon(1e-3));  // a share of 0 counts as 2^-24
  for (const double timestep : {0.0, 1.0, 2.0, 3.0}) {
    CHECK(timestep_of(sigmas, sigma_at(sigmas, timestep)) == doctest::Approx(timestep));
  }
  CHECK(sigma_at(sigmas, 1.5) == doctest::Approx(2.0));
  CHECK(timestep_of(sigmas, 1e9) == 3.0);
  CHECK(timestep_of(sigmas, 0.0) == 0.0);
}

TEST_CASE("Karras levels go from high to low and crowd at the low end") {
  const std::vector<double> levels = karras_sigmas(0.03, 14.6, 9);
  CHECK(levels.front() == doctest::Approx(14.6));
  CHECK(levels.back() == doctest::Approx(0.03));
  CHECK(levels[4] < 3.0);
}

}  // namespace cinnabar::samplers
