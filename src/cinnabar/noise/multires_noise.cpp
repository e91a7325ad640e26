#include "cinnabar/noise/entry.h"

namespace cinnabar::noise {

using schema::Level;
using schema::Type;

CINNABAR_REGISTER_NOISE(
    multires_noise,
    {.help =
         "Adds coarser and coarser noise to the noise (pyramid noise), so that large structures are learned sooner.",
     .options = {{.name = "multires_noise_iterations",
                  .type = Type::Int,
                  .range = schema::Range{0, 64},
                  .typical = schema::Range{6, 10},
                  .group = "Noise",
                  .level = Level::Advanced,
                  .label = "Pyramid noise levels",
                  .help = "Largest number of pyramid noise levels. Unset or 0 switches pyramid noise off."},
                 {.name = "multires_noise_discount",
                  .type = Type::Float,
                  .fallback = 0.3,
                  .range = schema::Range{0.0, 1.0},
                  .typical = schema::Range{0.1, 0.8},
                  .group = "Noise",
                  .level = Level::Expert,
                  .shown_if = "multires_noise_iterations > 0",
                  .label = "Pyramid discount",
                  .help = "Each coarser level of the pyramid counts this much less than the one before."}},
     .order = 20});

}  // namespace cinnabar::noise

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "cinnabar/noise/modifier.h"
#include "cinnabar/noise/multires_noise.h"

namespace cinnabar::noise {

std::array<int64_t, 2> pyramid_level_size(int64_t height, int64_t width, double uniform, int64_t level) {
  const double divisor = std::pow(2.0 * uniform + 2.0, static_cast<double>(level));
  const auto side = [&](int64_t full) {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(full) / divisor));
  };
  return {side(height), side(width)};
}

at::Tensor add_pyramid_noise(const at::Tensor& noise, const std::vector<at::Tensor>& levels, double discount) {
  at::Tensor sum = noise;
  double weight = 1.0;
  for (const at::Tensor& level : levels) {
    const at::Tensor full = at::upsample_bilinear2d(level, {noise.size(2), noise.size(3)}, /*align_corners=*/false);
    sum = sum + full * weight;
    weight *= discount;
  }
  return sum / sum.std();
}

namespace {

class MultiresNoise : public Modifier {
 public:
  explicit MultiresNoise(const schema::Values& values)
      : iterations_(values.integer("multires_noise_iterations")),
        discount_(values.maybe_number("multires_noise_discount").value_or(0.3)) {}

  void apply(SampleNoise& draw, const at::Tensor& /*latents*/, const SampleKey& key) const override {
    base::RandomStream stream(key.seed, base::Purpose::PyramidNoise, key.step, key.sample);
    const at::Tensor& noise = draw.noise;
    std::vector<at::Tensor> levels;
    for (int64_t level = 0; level < iterations_; ++level) {
      const auto [height, width] = pyramid_level_size(noise.size(2), noise.size(3), stream.uniform(), level);
      levels.push_back(normal_tensor(stream, {1, noise.size(1), height, width}));
      if (height == 1 || width == 1) break;
    }
    draw.noise = add_pyramid_noise(noise, levels, discount_);
  }

 private:
  int64_t iterations_;
  double discount_;
};

std::unique_ptr<Modifier> make_multires_noise(const schema::Values& values) {
  const bool is_on = values.maybe_integer("multires_noise_iterations").value_or(0) > 0;
  return is_on ? std::make_unique<MultiresNoise>(values) : nullptr;
}

}  // namespace

CINNABAR_REGISTER_NOISE_MODIFIER(multires_noise, make_multires_noise);

}  // namespace cinnabar::noise

#endif  // CINNABAR_ENGINE
