// Noise offset: a constant per sample and channel on top of the noise, so that a model can learn very dark and very
// bright pictures (crosslabs.org, "Diffusion with offset noise", 2023).
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace cinnabar::noise {

// noise, latents [B, C, H, W]; random: standard normal [B, C, 1, 1]. Adds strength * random; with `adaptive` a,
// max(0, strength + a |mean over H, W of latents|) * random, per sample and channel.
at::Tensor add_noise_offset(const at::Tensor& noise, const at::Tensor& latents, const at::Tensor& random,
                            double strength, std::optional<double> adaptive);

}  // namespace cinnabar::noise
