#include "cinnabar/samplers/noise_levels.h"

#include <algorithm>
#include <cmath>

#include "cinnabar/base/error.h"

namespace cinnabar::samplers {

Spacing spacing_from(const std::string& word) {
  if (word == "leading") return Spacing::Leading;
  if (word == "linspace") return Spacing::Linspace;
  if (word == "trailing") return Spacing::Trailing;
  throw base::Error(base::ErrorCode::Config,
                    "timestep_spacing = \"" + word + "\": expected leading, linspace or trailing");
}

std::vector<double> table_sigmas(const std::vector<double>& alphas_cumprod) {
  std::vector<double> sigmas;
  for (const double alpha : alphas_cumprod) {
    const double signal = std::max(alpha, 0x1.0p-24);
    sigmas.push_back(std::sqrt((1.0 - signal) / signal));
  }
  return sigmas;
}

std::vector<double> spaced_timesteps(Spacing spacing, int64_t table_steps, int64_t count, int64_t offset) {
  CINNABAR_ASSERT(count >= 1 && table_steps >= 1);
  std::vector<double> timesteps;
  const double total = static_cast<double>(table_steps);
  // Multiples of a rounded step, as numpy's linspace and arange: what should be a half can fall to either side of it,
  // and is rounded to another whole timestep then (26 of 52 steps over 0..999 is 499.49999999999994).
  const double linspace_step = count == 1 ? 0.0 : (total - 1.0) / static_cast<double>(count - 1);
  const double trailing_step = (total - total / static_cast<double>(count)) - total;
  for (int64_t i = count - 1; i >= 0; --i) {
    const double index = static_cast<double>(i);
    switch (spacing) {
      case Spacing::Leading:
        timesteps.push_back(static_cast<double>(i * (table_steps / count) + offset));
        break;
      case Spacing::Linspace:
        timesteps.push_back(i + 1 == count && count > 1 ? total - 1.0 : index * linspace_step);
        break;
      case Spacing::Trailing: {
        const double from_end = total + (static_cast<double>(count) - 1.0 - index) * trailing_step;
        timesteps.push_back(std::nearbyint(from_end) - 1.0);  // halves to even, as the reference rounds
        break;
      }
    }
  }
  return timesteps;
}

double sigma_at(const std::vector<double>& sigmas, double timestep) {
  const double last = static_cast<double>(sigmas.size() - 1);
  const double place = std::clamp(timestep, 0.0, last);
  const double below = std::floor(place);
  const auto index = static_cast<size_t>(below);
  const size_t next = std::min(index + 1, sigmas.size() - 1);
  return sigmas[index] + (place - below) * (sigmas[next] - sigmas[index]);
}

double timestep_of(const std::vector<double>& sigmas, double sigma) {
  if (sigmas.size() < 2) return 0.0;
  const auto above = std::upper_bound(sigmas.begin(), sigmas.end(), sigma);
  const auto low = static_cast<size_t>(
      std::clamp<std::ptrdiff_t>(above - sigmas.begin() - 1, 0, static_cast<std::ptrdiff_t>(sigmas.size()) - 2));
  const double low_log = std::log(sigmas[low]);
  const double high_log = std::log(sigmas[low + 1]);
  const double share = (std::log(std::max(sigma, 1e-10)) - low_log) / (high_log - low_log);
  return static_cast<double>(low) + std::clamp(share, 0.0, 1.0);
}

std::vector<double> karras_sigmas(double low, double high, int64_t count) {
  constexpr double kRho = 7.0;
  const double low_root = std::pow(low, 1.0 / kRho);
  const double high_root = std::pow(high, 1.0 / kRho);
  std::vector<double> levels;
  for (int64_t i = 0; i < count; ++i) {
    const double share = count == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(count - 1);
    levels.push_back(std::pow(high_root + share * (low_root - high_root), kRho));
  }
  return levels;
}

}  // namespace cinnabar::samplers
