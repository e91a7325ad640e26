// Noise and timesteps of training batches, from keyed random streams and the noise settings.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cinnabar/noise/modifier.h"

namespace cinnabar::noise {

// B batch, C channels, H W latent height and width.
struct BatchNoise {
  at::Tensor noise;        // [B, C, H, W] fp32 on the latents' device: what the target is made of
  at::Tensor input_noise;  // same shape: what the noisy latents are made of (equal to `noise` without perturbation)
  at::Tensor timesteps;    // int64 [B] on the CPU
};

class NoiseSource {
 public:
  // Reads the options of all noise entries. `table_steps` is the length of the noise table. Throws Error{Config}.
  NoiseSource(const schema::Values& values, int64_t table_steps);

  // latents: scaled, [B, C, H, W]; one key a sample.
  BatchNoise draw(const at::Tensor& latents, std::span<const SampleKey> keys) const;

 private:
  int64_t min_timestep_;
  int64_t max_timestep_;  // exclusive, above min_timestep_
  std::vector<std::unique_ptr<Modifier>> modifiers_;
};

}  // namespace cinnabar::noise
