#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    lcm, "lcm",
    {.help = "For models and LoRA files that were distilled to few steps (latent consistency): 4 to "
             "8 steps, guidance 1 to 2.",
     .label = "LCM"},
    {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/samplers/table_sampler.h"

namespace cinnabar::samplers {

namespace {

constexpr int64_t kDistilledSteps = 50;  // timesteps that consistency models are distilled on
constexpr double kDataDeviation = 0.5;   // sigma_data
constexpr double kTimestepScaling = 10.0;

// Luo et al. 2023, "Latent consistency models", algorithm 3: each call predicts the clean latents, and all calls but
// the last noise them again to the next timestep.
class Lcm : public TableSampler {
 public:
  explicit Lcm(const SamplerOptions& options) : TableSampler(options, /*ends_at_clean=*/true) {
    // More steps than that use every timestep of the table.
    const int64_t distilled = options.steps <= kDistilledSteps ? kDistilledSteps : table_steps();
    const int64_t stride = table_steps() / distilled;
    const double spacing = static_cast<double>(distilled) / static_cast<double>(options.steps);
    for (int64_t i = 0; i < options.steps; ++i) {
      const auto skipped = static_cast<int64_t>(std::floor(static_cast<double>(i) * spacing));
      timesteps_.push_back(static_cast<double>((distilled - skipped) * stride - 1));
    }
  }

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& noise) override {
    const double scaled = static_cast<double>(timestep(call)) * kTimestepScaling;
    const double sum = scaled * scaled + kDataDeviation * kDataDeviation;
    // The boundary condition of consistency models: at timestep 0 the result is x itself.
    const at::Tensor clean = clean_part(alpha_at(timestep(call)), x, prediction) * (scaled / std::sqrt(sum)) +
                             x * (kDataDeviation * kDataDeviation / sum);
    if (call + 1 == static_cast<int64_t>(timesteps_.size())) return clean;
    const double next = alpha_at(timestep(call + 1));
    return clean * std::sqrt(next) + noise(call, x) * std::sqrt(1.0 - next);
  }
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(lcm, "lcm",
                                  [](const SamplerOptions& options) { return std::make_unique<Lcm>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
