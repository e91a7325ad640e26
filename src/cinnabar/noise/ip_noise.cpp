#include "cinnabar/noise/entry.h"

namespace cinnabar::noise {

using schema::Level;
using schema::Type;

CINNABAR_REGISTER_NOISE(
    ip_noise,
    {.help = "Input perturbation: the noisy latents get a little more noise than the target knows of.",
     .options = {{.name = "ip_noise_gamma",
                  .type = Type::Float,
                  .range = schema::Range{0.0, 1.0},
                  .typical = schema::Range{0.05, 0.1},
                  .group = "Noise",
                  .level = Level::Advanced,
                  .label = "Input perturbation",
                  .help = "Strength of extra noise on the model's input, which the target does not contain. 0.1 "
                          "is the published value."},
                 {.name = "ip_noise_gamma_random_strength",
                  .type = Type::Flag,
                  .fallback = false,
                  .group = "Noise",
                  .level = Level::Expert,
                  .shown_if = "ip_noise_gamma > 0",
                  .label = "Random perturbation strength",
                  .help = "Draws the strength between 0 and ip_noise_gamma for each sample."}},
     .order = 30});

}  // namespace cinnabar::noise

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/noise/modifier.h"

namespace cinnabar::noise {

namespace {

// Ning et al. 2023, "Input perturbation reduces exposure bias in diffusion models".
class InputPerturbation : public Modifier {
 public:
  explicit InputPerturbation(const schema::Values& values)
      : gamma_(values.number("ip_noise_gamma")), is_random_(values.flag("ip_noise_gamma_random_strength")) {}

  void apply(SampleNoise& draw, const at::Tensor& /*latents*/, const SampleKey& key) const override {
    base::RandomStream stream(key.seed, base::Purpose::InputPerturbation, key.step, key.sample);
    const double gamma = is_random_ ? gamma_ * stream.uniform() : gamma_;
    draw.input_noise = draw.noise + gamma * normal_tensor(stream, draw.noise.sizes());
  }

 private:
  double gamma_;
  bool is_random_;
};

std::unique_ptr<Modifier> make_ip_noise(const schema::Values& values) {
  const bool is_on = values.maybe_number("ip_noise_gamma").value_or(0.0) != 0.0;
  return is_on ? std::make_unique<InputPerturbation>(values) : nullptr;
}

}  // namespace

CINNABAR_REGISTER_NOISE_MODIFIER(ip_noise, make_ip_noise);

}  // namespace cinnabar::noise

#endif  // CINNABAR_ENGINE
