#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cinnabar/samplers/entry.h"
#include "cinnabar/samplers/noise_levels.h"
#include "cinnabar/samplers/sampler.h"

namespace cinnabar::samplers {

namespace {

at::Tensor scaled_linear_table() {
  const at::Tensor betas = at::linspace(std::sqrt(0.00085), std::sqrt(0.012), 1000, at::kDouble).square();
  return at::cumprod(1.0 - betas, 0).to(at::kFloat);
}

// A model that knows the one picture of its world: every sampler must end at it, whatever its steps.
Model model_of(const at::Tensor& picture, const at::Tensor& table, Prediction prediction) {
  const float* shares = table.const_data_ptr<float>();
  const std::vector<double> sigmas = table_sigmas({shares, shares + table.numel()});
  return [=](const at::Tensor& x, double timestep) {
    const double sigma = sigma_at(sigmas, timestep);
    const double signal = 1.0 / std::sqrt(sigma * sigma + 1.0);
    const double spread = sigma * signal;
    const at::Tensor noise = (x - signal * picture) / spread;
    return prediction == Prediction::Epsilon ? noise : signal * noise - spread * picture;
  };
}

bool is_pseudo_multistep(const std::string& name) { return name == "pndm" || name == "plms"; }

// The picture; of samplers that end above level 0 it still has the noise of the start, which a perfect model keeps.
at::Tensor expected_end(const Sampler& sampler, const std::string& name, const at::Tensor& start,
                        const at::Tensor& picture, const at::Tensor& table) {
  const float* shares = table.const_data_ptr<float>();
  const std::vector<double> sigmas = table_sigmas({shares, shares + table.numel()});
  double end = sampler.sigmas().empty() ? 0.0 : sampler.sigmas().back();
  if (is_pseudo_multistep(name)) end = sigmas.front();
  if (end == 0.0) return picture;
  const double first = sigma_at(sigmas, sampler.timesteps().front());
  const at::Tensor noise = (start * std::sqrt(first * first + 1.0) - picture) / first;
  return (picture + noise * end) / std::sqrt(end * end + 1.0);
}

// Levels between two entries of the table are interpolated, and the pseudo multistep joins v of several timesteps.
double tolerance(const std::string& name, Prediction prediction) {
  return is_pseudo_multistep(name) && prediction == Prediction::Velocity ? 0.5 : 2e-3;
}

}  // namespace

TEST_CASE("every sampler is described, has a page and finds the picture of a perfect model") {
  for (const char* name : {"ddim", "pndm", "lms", "euler", "euler_a", "heun", "dpm_2", "dpm_2_a", "dpmsolver",
                           "dpmsolver++", "dpmsingle", "k_lms", "k_euler", "k_euler_a", "k_dpm_2", "k_dpm_2_a"}) {
    CHECK(entries().find(name) != nullptr);  // sd-scripts' names
  }
  const at::Tensor table = scaled_linear_table();
  const at::Tensor picture = at::linspace(-2.0, 2.0, 2 * 4 * 3 * 5).view({2, 4, 3, 5}).to(at::kFloat);
  const std::vector<uint64_t> seeds{5, 6};
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    const Entry& entry = entries().at(name);
    CHECK_FALSE(entry.help.empty());
    const std::string page = (entry.alias_of.empty() ? name : entry.alias_of) + ".md";
    CHECK(std::filesystem::exists(std::filesystem::path(CINNABAR_TESTS_DIR) / "../docs/samplers" / page));
    for (const Prediction prediction : {Prediction::Epsilon, Prediction::Velocity}) {
      for (const int64_t steps : {1, 7, 20}) {
        CAPTURE(steps);
        const auto sampler = make_sampler(name, {.steps = steps, .prediction = prediction, .alphas_cumprod = table});
        const at::Tensor start = initial_noise(seeds, {4, 3, 5}) * sampler->initial_scale();
        const at::Tensor found =
            run_sampler(*sampler, start, model_of(picture, table, prediction), seeded_noise(seeds));
        CHECK((found - expected_end(*sampler, name, start, picture, table)).abs().max().item<double>() <
              tolerance(name, prediction));
      }
    }
  }
}

TEST_CASE("every sampler runs with the options that it lists") {
  const at::Tensor table = scaled_linear_table();
  const Model model = [](const at::Tensor& x, double /*timestep*/) { return x * 0.5; };
  for (const std::string& name : entries().names()) {
    for (const char* spacing : {"", "leading", "linspace", "trailing"}) {
      for (const bool has_karras_sigmas : {false, true}) {
        for (const int64_t steps : {1, 13, 1000}) {
          CAPTURE(name);
          CAPTURE(spacing);
          CAPTURE(steps);
          const auto sampler = make_sampler(name, {.steps = steps,
                                                   .alphas_cumprod = table,
                                                   .timestep_spacing = spacing,
                                                   .has_karras_sigmas = has_karras_sigmas});
          CHECK(sampler->timesteps().size() >= static_cast<size_t>(steps));
          CHECK(std::all_of(sampler->timesteps().begin(), sampler->timesteps().end(),
                            [](double timestep) { return timestep >= 0.0 && timestep <= 999.0; }));
          if (steps > 13) continue;
          const at::Tensor x = initial_noise({1}, {1, 2, 2}) * sampler->initial_scale();
          CHECK(run_sampler(*sampler, x, model, seeded_noise({1})).isfinite().all().item<bool>());
        }
      }
    }
  }
}

}  // namespace cinnabar::samplers
