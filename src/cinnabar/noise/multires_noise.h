// Pyramid (multi-resolution) noise: coarser and coarser noise on top of the noise (J. Whitaker, "Multi-resolution noise
// for diffusion model training", 2023).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace cinnabar::noise {

// Height and width of level `level` (from 0): each side divided by (2 uniform + 2)^level, rounded down, at least 1.
// The last level is the first one with a side of 1, or number iterations - 1.
std::array<int64_t, 2> pyramid_level_size(int64_t height, int64_t width, double uniform, int64_t level);

// noise [B, C, H, W]; levels: standard normal [B, C, h_k, w_k]. Adds each level, resized bilinearly and scaled by
// discount^k, then divides by the standard deviation of the whole tensor.
at::Tensor add_pyramid_noise(const at::Tensor& noise, const std::vector<at::Tensor>& levels, double discount);

}  // namespace cinnabar::noise
