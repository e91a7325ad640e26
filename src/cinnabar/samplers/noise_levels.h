// Timesteps and noise levels of samplers for models with a noise table (no torch). sigma = noise share / signal share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::samplers {

// Names as in Lin et al. 2023, table 2, and in diffusers.
enum class Spacing { Leading, Linspace, Trailing };
// Throws Error{Config} for another word.
Spacing spacing_from(const std::string& word);

// sigma of every timestep of the table, ascending. Signal shares of 0 (zero-terminal tables) count as 2^-24.
std::vector<double> table_sigmas(const std::vector<double>& alphas_cumprod);

// `count` timesteps of a table of `table_steps`, descending. Linspace gives fractions; the others whole numbers, with
// `offset` added for Leading.
std::vector<double> spaced_timesteps(Spacing spacing, int64_t table_steps, int64_t count, int64_t offset);

// sigma at a timestep, with fractions interpolated linearly.
double sigma_at(const std::vector<double>& sigmas, double timestep);
// Inverse of it in log sigma, clamped to the table.
double timestep_of(const std::vector<double>& sigmas, double sigma);

// `count` levels from `high` to `low`, even in sigma^(1/7) (Karras et al. 2022, equation 5).
std::vector<double> karras_sigmas(double low, double high, int64_t count);

}  // namespace cinnabar::samplers
