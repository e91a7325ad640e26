#include "cinnabar/noise/entry.h"

namespace cinnabar::noise {

using schema::Level;
using schema::Type;

CINNABAR_REGISTER_NOISE(
    noise_offset,
    {.help = "Adds a random constant to each channel of the noise, so that very dark and very bright pictures can be "
             "learned.",
     .options =
         {{.name = "noise_offset",
           .type = Type::Float,
           .range = schema::Range{0.0, 1.0},
           .typical = schema::Range{0.02, 0.1},
           .group = "Noise",
           .level = Level::Advanced,
           .label = "Noise offset",
           .help =
               "Size of a random constant added to each channel of the noise. 0.05 to 0.1 helps with dark and bright "
               "pictures; more makes contrast harsh."},
          {.name = "noise_offset_random_strength",
           .type = Type::Flag,
           .fallback = false,
           .group = "Noise",
           .level = Level::Expert,
           .shown_if = "noise_offset > 0",
           .label = "Random offset strength",
           .help = "Draws the strength of the noise offset between 0 and noise_offset for each sample."},
          {.name = "adaptive_noise_scale",
           .type = Type::Float,
           .range = schema::Range{-10.0, 10.0},
           .group = "Noise",
           .level = Level::Expert,
           .shown_if = "noise_offset > 0",
           .label = "Adaptive offset scale",
           .help = "Adds this times the absolute mean of the sample's latents to the noise offset, per channel, never "
                   "below 0. Needs noise_offset."}},
     .order = 10});

}  // namespace cinnabar::noise

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/noise/modifier.h"
#include "cinnabar/noise/noise_offset.h"

namespace cinnabar::noise {

at::Tensor add_noise_offset(const at::Tensor& noise, const at::Tensor& latents, const at::Tensor& random,
                            double strength, std::optional<double> adaptive) {
  if (!adaptive) return noise + strength * random;
  const at::Tensor level = latents.mean({2, 3}, /*keepdim=*/true).abs();  // [B, C, 1, 1]
  return noise + (strength + *adaptive * level).clamp_min(0.0) * random;
}

namespace {

class NoiseOffset : public Modifier {
 public:
  explicit NoiseOffset(const schema::Values& values)
      : strength_(values.number("noise_offset")),
        is_random_(values.flag("noise_offset_random_strength")),
        adaptive_(values.maybe_number("adaptive_noise_scale")) {}

  void apply(SampleNoise& draw, const at::Tensor& latents, const SampleKey& key) const override {
    base::RandomStream stream(key.seed, base::Purpose::NoiseOffset, key.step, key.sample);
    const double strength = is_random_ ? strength_ * stream.uniform() : strength_;
    const at::Tensor random = normal_tensor(stream, {1, draw.noise.size(1), 1, 1});
    draw.noise = add_noise_offset(draw.noise, latents, random, strength, adaptive_);
  }

 private:
  double strength_;
  bool is_random_;
  std::optional<double> adaptive_;
};

std::unique_ptr<Modifier> make_noise_offset(const schema::Values& values) {
  const bool is_on = values.maybe_number("noise_offset").value_or(0.0) != 0.0;
  if (!is_on && values.maybe_number("adaptive_noise_scale").value_or(0.0) != 0.0) {
    throw base::Error(
        base::ErrorCode::Config,
        "adaptive_noise_scale is set but noise_offset is not: give noise_offset a value above 0 (for example "
        "0.05) or leave adaptive_noise_scale out");
  }
  return is_on ? std::make_unique<NoiseOffset>(values) : nullptr;
}

}  // namespace

CINNABAR_REGISTER_NOISE_MODIFIER(noise_offset, make_noise_offset);

}  // namespace cinnabar::noise

#endif  // CINNABAR_ENGINE
